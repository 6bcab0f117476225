"""Hand-written vector code (LLVM IR), each piece with a plain twin that it is tested against.

A piece stays as long as its twin takes 1.3 times as long where it is used.
"""
