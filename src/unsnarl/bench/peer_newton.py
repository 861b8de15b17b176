"""Newton's VBD on the CPU on the falling sheet. Run by the peers' Python: peer_newton.py SCENE.npz RESULT.npy.

Writes the sheet's last positions (n, 3) and prints {"seconds": per frame, "frames": how many}.
"""

import json
import sys
import time

import newton
import numpy as np
import warp as wp

SUBSTEPS = 10  # a frame


class Sheet:
    """The sheet and the sphere, ready to go."""

    def __init__(self, given):
        thickness, friction = float(given["thickness"]), float(given["friction"])
        self.dt = 1.0 / float(given["fps"]) / SUBSTEPS
        builder = newton.ModelBuilder(gravity=(0.0, 0.0, -float(given["gravity"])))
        shape = newton.ModelBuilder.ShapeConfig(mu=friction)
        builder.add_shape_sphere(-1, radius=float(given["radius"]), cfg=shape)
        builder.add_cloth_mesh(
            pos=wp.vec3(0.0, 0.0, 0.0),
            rot=wp.quat_identity(),
            scale=1.0,
            vel=wp.vec3(0.0, 0.0, 0.0),
            vertices=[wp.vec3(*p) for p in given["x"]],
            indices=given["faces"].ravel().tolist(),
            density=float(given["density"]),
            tri_ke=float(given["stretch"]),
            tri_ka=float(given["stretch"]),
            tri_kd=2e-4,
            edge_ke=float(given["bend"]),
            edge_kd=1e-2*float(given["bend"]),
            particle_radius=thickness,
        )
        builder.color(include_bending=True)
        self.model = builder.finalize(device="cpu")
        self.model.soft_contact_mu = friction
        self.pipeline = newton.CollisionPipeline(self.model)
        self.contacts = self.pipeline.contacts()
        self.solver = newton.solvers.SolverVBD(
            self.model,
            iterations=10,
            particle_enable_self_contact=True,
            particle_self_contact_margin=thickness,
            particle_self_contact_gap=0.5 * thickness,
        )
        self.now, self.next = self.model.state(), self.model.state()
        self.control = self.model.control()

    def frame(self):
        """Simulate one frame."""
        self.solver.rebuild_bvh(self.now)
        for _ in range(SUBSTEPS):
            self.now.clear_forces()
            self.pipeline.collide(self.now, self.contacts)
            self.solver.step(self.now, self.next, self.control, self.contacts, self.dt)
            self.now, self.next = self.next, self.now


def main(scene_file, result_file):
    wp.config.quiet = True
    given = np.load(scene_file)
    Sheet(given).frame()  # compiles the kernels
    sheet = Sheet(given)
    frames = int(given["frames"])
    began = time.perf_counter()
    for _ in range(1, frames):
        sheet.frame()
    seconds = time.perf_counter() - began
    np.save(result_file, sheet.now.particle_q.numpy().astype(float))
    print(json.dumps({"seconds": seconds / (frames - 1), "frames": frames}))


main(*sys.argv[1:])
