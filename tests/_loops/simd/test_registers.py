import pytest
from llvmlite import ir

from representer._loops.simd import registers


@pytest.fixture
def builder():
    function = ir.Function(ir.Module(), ir.FunctionType(ir.VoidType(), [ir.DoubleType().as_pointer()]), "f")
    return ir.IRBuilder(function.append_basic_block())


@pytest.mark.parametrize(("number", "count"), [(ir.FloatType(), 8), (ir.DoubleType(), 4)])
def test_a_vector_is_as_long_as_a_register(number, count):
    assert registers.vector_of(number).count == count


def test_a_row_is_read_multiplied_and_written_back(builder):
    row = registers.addresses(builder, builder.function.args[0])
    values = registers.load(builder, row)
    factors = [registers.spread(builder, ir.DoubleType()(2.0))] * registers.VECTORS
    registers.store(builder, registers.add_product(builder, builder.fsub, values, factors, values), row)
    code = str(builder.function)
    wanted = {"load <4 x double>": 3, "store <4 x double>": 3, "fmul contract <4 x double>": 3, "fsub contract": 3}
    assert {instruction: code.count(instruction) for instruction in wanted} == wanted


def test_numbers_of_another_type_are_spread_as_often_as_asked_for(builder):
    assert registers.spread(builder, ir.IntType(32)(3), 4).type == ir.VectorType(ir.IntType(32), 4)
    assert registers.spread(builder, ir.DoubleType()(3.0)).type == registers.vector_of(ir.DoubleType())


def test_the_greater_one_of_each_two(builder):
    x, y = (registers.spread(builder, ir.DoubleType()(v)) for v in (1.0, 2.0))
    assert registers.greatest(builder, x, y).type == x.type
    assert str(builder.function).count("fcmp nnan nsz ogt <4 x double>") == 1
