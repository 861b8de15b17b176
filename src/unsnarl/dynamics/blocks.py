"""Rows of a block-CSR matrix times a vector, four numbers at a time.

Numba compiles such a product to one multiplication and one addition at a time, since without `fastmath` LLVM may not
put them together by itself. Here the instructions on vectors are spelled out. Blocks stand column by column, so that a
block times (x, y, z) is x times a run of three numbers plus y times the next plus z times the last; the fourth lane is
never looked at. The columns have a sum each, so that an addition need not wait for the one before.
"""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

_INDEX, _PLACE, _DOUBLE = ir.IntType(64), ir.IntType(32), ir.DoubleType()
_LANES = ir.VectorType(_DOUBLE, 4)
_UNKNOWN = ir.Constant(_LANES, ir.Undefined)
_FIRST = (0, 3, 5)  # where four numbers are read for each column: for the last one from one earlier, to stay inside


def _places(*places):
    return ir.Constant(ir.VectorType(_PLACE, 4), list(places))


@intrinsic
def row_product(typing, values, column, p, begin, end):
    """(x, y, z): the sum of the blocks begin to end - 1 times the vectors p of their columns.

    values : (b, 3, 3) float64, block by block as columns: values[k, c] is column c of block k
    column : (b,) int32; p : (n, 3) float64; begin, end : int64
    """

    def code(context, builder, signature, args):
        def data(k):
            return context.make_array(signature.args[k])(context, builder, args[k]).data

        columns, (begin, end) = data(1), args[3:]
        blocks, vectors = (builder.bitcast(data(k), _DOUBLE.as_pointer()) for k in (0, 2))
        multiply_add = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(_LANES, [_LANES] * 3), "llvm.fmuladd.v4f64"
        )
        before, loop, after = builder.block, *(builder.append_basic_block(name) for name in ("blocks", "done"))
        builder.cbranch(builder.icmp_signed("<", begin, end), loop, after)

        builder.position_at_end(loop)
        k, sums = builder.phi(_INDEX), [builder.phi(_LANES) for _ in range(3)]
        vertex = builder.sext(builder.load(builder.gep(columns, [k])), _INDEX)
        block = builder.gep(blocks, [builder.mul(k, _INDEX(9))])
        vector = builder.gep(vectors, [builder.mul(vertex, _INDEX(3))])
        new = []
        for c in range(3):
            four = builder.load(builder.bitcast(builder.gep(block, [_INDEX(_FIRST[c])]), _LANES.as_pointer()), align=8)
            if c == 2:
                four = builder.shuffle_vector(four, _UNKNOWN, _places(1, 2, 3, 3))
            one = builder.insert_element(_UNKNOWN, builder.load(builder.gep(vector, [_INDEX(c)])), _PLACE(0))
            one = builder.shuffle_vector(one, _UNKNOWN, _places(0, 0, 0, 0))
            new.append(builder.call(multiply_add, [four, one, sums[c]]))
        total = builder.fadd(builder.fadd(new[0], new[1]), new[2])
        following = builder.add(k, _INDEX(1))
        k.add_incoming(begin, before)
        k.add_incoming(following, loop)
        for c in range(3):
            sums[c].add_incoming(ir.Constant(_LANES, [0.0] * 4), before)
            sums[c].add_incoming(new[c], loop)
        builder.cbranch(builder.icmp_signed("<", following, end), loop, after)

        builder.position_at_end(after)
        out = builder.phi(_LANES)
        out.add_incoming(ir.Constant(_LANES, [0.0] * 4), before)
        out.add_incoming(total, loop)
        return context.make_tuple(
            builder, signature.return_type, [builder.extract_element(out, _PLACE(c)) for c in range(3)]
        )

    return types.UniTuple(types.float64, 3)(values, column, p, begin, end), code
