"""Write the table of flats that `representer demo` fits: synthetic, with gaps, categories, an id and a column of noise.

python tools/demo_data.py
"""

import csv
from pathlib import Path

import numpy as np

TARGET = Path(__file__).parents[1] / "src" / "representer" / "tables" / "flats.csv"
DISTRICTS = {"Harbour": 1.25, "Old town": 1.4, "University": 1.1, "North": 0.85, "Station": 0.95, "Hillside": 1.15}
ENERGY = {"A": 1.08, "B": 1.04, "C": 1.0, "D": 0.97, "E": 0.92}
HEADER = ["flat", "district", "area_m2", "rooms", "built", "floor", "km_to_centre", "energy", "balcony", "price"]


def rows(n=1000, seed=7):
    """Rent-like prices: a bump of the year, a saturating floor, districts that decay at different rates."""
    rng = np.random.default_rng(seed)
    districts, classes = list(DISTRICTS), list(ENERGY)
    for i in range(n):
        district = districts[rng.choice(6, p=[0.15, 0.12, 0.2, 0.23, 0.18, 0.12])]
        area = float(np.exp(rng.normal(4.2, 0.38)))
        rooms = int(np.clip(round(area / 26 + rng.normal(0, 0.5)), 1, 7))
        built = int(np.clip(rng.choice([1905, 1965, 1995, 2015]) + rng.normal(0, 9), 1880, 2024))
        floor = int(rng.integers(0, 9))
        km = float(rng.gamma(2.0, 1.6))
        energy = classes[int(np.clip(4 - (built - 1950) / 18 + rng.normal(0, 1), 0, 4))]
        balcony = rng.random() < 0.4 + 0.05 * floor
        age_effect = 1.0 + 0.22 * np.exp(-(((built - 2015) / 14) ** 2)) + 0.16 * np.exp(-(((built - 1900) / 16) ** 2))
        value = 3100 * area**0.93 * DISTRICTS[district] * ENERGY[energy] * age_effect
        value *= np.exp(-km / (9.0 if district != "Old town" else 4.0)) * (1 + 0.06 * np.tanh(floor / 3)) + 0.05
        value *= (1.04 if balcony else 1.0) * np.exp(rng.normal(0, 0.07))
        gap = rng.random(2) < (0.06, 0.03)
        yield [
            f"F-{10_000 + 7 * i}", district, f"{area:.1f}", rooms, "" if gap[0] else built, floor, f"{km:.2f}",
            "" if gap[1] else energy, "yes" if balcony else "no", int(round(value, -2)),
        ]  # fmt: skip


def main():
    with open(TARGET, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(HEADER)
        writer.writerows(rows())
    print(f"{TARGET}: {TARGET.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
