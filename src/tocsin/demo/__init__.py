"""What does it look like on real data? A year of flights out of New York rings thousands of travel alerts.

`pipeline.run` is the whole of it: real flights, weather and airports from PyPI packages, joined by Spark;
travel alerts drawn from them; compiled, matched and written by `tocsin.spark`; then a summary and two
pictures. `fences.run` follows the planes of one day, and `window.run` replays orders as deals; neither needs Spark.
"""
