/** Batches: many like requests at once, carefully first, so that a server that refuses them is asked seldom. */

/** How many to start together: 1, 2, 4 ... until `count` are started. Pure. */
export function slowStartSizes(count: number): number[] {
  const sizes: number[] = []
  for (let left = count, size = 1; left > 0; size *= 2) {
    sizes.push(Math.min(size, left))
    left -= Math.min(size, left)
  }
  return sizes
}

/** Runs `act` on every item, at most `width` at once, to the end whatever fails; gives the failures. */
export async function eachAtOnce<T>(
  items: readonly T[],
  width: number,
  act: (item: T) => Promise<unknown>,
): Promise<unknown[]> {
  const failures: unknown[] = []
  const rest = items.values()
  const work = async (): Promise<void> => {
    for (const item of rest) {
      try {
        await act(item)
      } catch (error) {
        failures.push(error)
      }
    }
  }
  await Promise.all(Array.from({ length: Math.min(width, items.length) }, work))
  return failures
}

/** Runs `act` on every item in batches of slow start; stops after the first batch with a failure and gives that. */
export async function slowStartEach<T>(
  items: readonly T[],
  width: number,
  act: (item: T) => Promise<unknown>,
): Promise<{ readonly error?: unknown }> {
  let done = 0
  for (const size of slowStartSizes(items.length)) {
    const [error] = await eachAtOnce(items.slice(done, done + size), width, act)
    if (error !== undefined) return { error }
    done += size
  }
  return {}
}

/** As `slowStartEach`, `count` times. */
export function slowStart(
  count: number,
  width: number,
  act: () => Promise<unknown>,
): Promise<{ readonly error?: unknown }> {
  return slowStartEach(Array.from({ length: count }), width, act)
}
