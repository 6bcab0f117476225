"""Vectors of numbers that stay in registers, for the few loops whose sums compilers would keep in memory.

Each function emits instructions into an intrinsic.
"""

from llvmlite import ir

ROWS, VECTORS, BYTES = 4, 3, 32
"""Accumulators of a step: rows, vectors per row and bytes per vector. Twelve vectors keep two adders busy."""
TOGETHER = VECTORS * BYTES // 4
"""Columns that a product with float32 tiles computes together."""
FUSED = ("contract",)


def vector_of(number):
    """The vector type for numbers of this type."""
    return ir.VectorType(number, BYTES // (8 if isinstance(number, ir.DoubleType) else 4))


def addresses(builder, first):
    """Addresses of the vectors in a row, from that of its first number."""
    first = builder.bitcast(first, vector_of(first.type.pointee).as_pointer())
    return [builder.gep(first, [ir.IntType(32)(v)]) for v in range(VECTORS)]


def load(builder, places):
    return [builder.load(place, align=4) for place in places]


def store(builder, values, places):
    for value, place in zip(values, places, strict=True):
        builder.store(value, place, align=4)


def spread(builder, number, count=None):
    """Broadcast a number to a vector of ``count`` lanes, or of as many as a register holds."""
    lane = ir.IntType(32)
    vector = vector_of(number.type) if count is None else ir.VectorType(number.type, count)
    first = builder.insert_element(vector(ir.Undefined), number, lane(0))
    return builder.shuffle_vector(first, first, ir.VectorType(lane, vector.count)(None))


def greatest(builder, x, y):
    """The elementwise maximum of two vectors without NaN."""
    flags = "nnan", "nsz"
    return builder.select(builder.fcmp_ordered(">", x, y, flags=flags), x, y)


def transposed(builder, rows):
    """Transpose a square whose rows are vectors: swap its off-diagonal quadrants, then recurse into each quadrant."""
    n, lane = len(rows), ir.IntType(32)
    size = n // 2
    while size:
        for r in (r for r in range(n) if not r & size):
            above = ir.VectorType(lane, n)([q - size + n if q & size else q for q in range(n)])
            below = ir.VectorType(lane, n)([q + n if q & size else q + size for q in range(n)])
            pair = rows[r], rows[r + size]
            rows[r], rows[r + size] = (builder.shuffle_vector(*pair, which) for which in (above, below))
        size //= 2
    return rows


def add_product(builder, add, sums, factors, others):
    """sums + factors * others, or minus, where ``add`` is the builder's fadd or fsub."""
    products = [builder.fmul(f, x, flags=FUSED) for f, x in zip(factors, others, strict=True)]
    return [add(a, p, flags=FUSED) for a, p in zip(sums, products, strict=True)]
