"""Demos on real data: a year of flights out of New York against thousands of travel alerts, fences, and a window.

`pipeline.run` takes real flights, weather and airports from PyPI packages and joins them with Spark. Travel alerts are
drawn from them; `tocsin.spark` compiles, matches and writes; a summary and two pictures follow. `fences.run` follows
the planes of one day, and `window.run` replays orders as deals; neither needs Spark.
"""
