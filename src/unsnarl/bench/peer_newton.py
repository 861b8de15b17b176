"""Newton's VBD on the CPU on the falling sheet. Run by the peers' Python: peer_newton.py SCENE.npz RESULT.npy SECONDS.

After SECONDS no further frame is begun. Writes the sheet's last positions (n, 3) [m] and prints {"seconds": per frame,
"frames": how many were simulated}.
"""

import json
import sys
import time

import newton
import numpy as np
import warp as wp

SUBSTEPS = 10  # a frame
ITERATIONS = 10  # a substep; Newton's default


class Falling:
    """The sheet and the sphere, in motion."""

    def __init__(self, given):
        thickness, friction = float(given["thickness"]), float(given["friction"])
        stiffness, bend, damping = float(given["stretch"]) / 2, float(given["bend"]), float(given["damping"])
        builder = newton.ModelBuilder(gravity=(0.0, 0.0, -float(given["gravity"])))
        builder.add_shape_sphere(-1, radius=float(given["radius"]), cfg=newton.ModelBuilder.ShapeConfig(mu=friction))
        builder.add_cloth_mesh(
            pos=wp.vec3(0.0, 0.0, 0.0),
            rot=wp.quat_identity(),
            scale=1.0,
            vel=wp.vec3(0.0, 0.0, 0.0),
            vertices=[wp.vec3(*p) for p in given["x"]],
            indices=given["faces"].ravel().tolist(),
            density=float(given["density"]),
            tri_ke=stiffness,
            tri_ka=0.0,
            tri_kd=damping * stiffness,
            edge_ke=bend,
            edge_kd=damping * bend,
            particle_radius=thickness,
        )
        builder.color(include_bending=True)
        self.model = builder.finalize(device="cpu")
        self.model.soft_contact_mu = friction
        self.pipeline = newton.CollisionPipeline(self.model)
        self.contacts = self.pipeline.contacts()
        self.solver = newton.solvers.SolverVBD(
            self.model,
            iterations=ITERATIONS,
            particle_enable_self_contact=True,
            particle_self_contact_margin=thickness,
            particle_self_contact_gap=0.5 * thickness,
        )
        self.now, self.next = self.model.state(), self.model.state()
        self.control = self.model.control()
        self.dt = 1.0 / float(given["fps"]) / SUBSTEPS

    def frame(self):
        """Simulate up to the next frame."""
        self.solver.rebuild_bvh(self.now)
        for _ in range(SUBSTEPS):
            self.now.clear_forces()
            self.pipeline.collide(self.now, self.contacts)
            self.solver.step(self.now, self.next, self.control, self.contacts, self.dt)
            self.now, self.next = self.next, self.now


def main(scene_file, result_file, most_seconds):
    given = np.load(scene_file)
    Falling(given).frame()  # compiles the kernels
    falling, frames = Falling(given), 0
    began = time.perf_counter()
    while frames < int(given["frames"]) - 1 and time.perf_counter() - began < float(most_seconds):
        falling.frame()
        frames += 1
    seconds = time.perf_counter() - began
    np.save(result_file, falling.now.particle_q.numpy().astype(float))
    print(json.dumps({"seconds": seconds / frames, "frames": frames}))


if __name__ == "__main__":
    main(*sys.argv[1:])
