/** What a request costs: processor time of this process, and of its longest turn of the event loop, whatever else the machine does. */

export interface Cost {
  /** All threads of the process. */
  readonly totalMs: number
  /** The longest that this thread worked without letting anything else have its turn. */
  readonly longestTurnMs: number
}

const msOf = ({ user, system }: NodeJS.CpuUsage): number => (user + system) / 1000

/** What the yardstick takes on the quiet machine for which the limits were set. */
const yardstickMs = 5.5
const yardstick = JSON.stringify(
  Object.fromEntries(Array.from({ length: 20_000 }, (_, n) => [`k${n}`, 'v'])),
)

/**
 * How many times longer than the least seen this thread takes for the same work now, at least 1: what shares its core and
 * its caches costs it processor time, too.
 */
export function slowness(): number {
  let leastMs = Infinity
  for (let run = 0; run < 8; run += 1) {
    const begin = process.threadCpuUsage()
    JSON.stringify(JSON.parse(yardstick))
    leastMs = Math.min(leastMs, msOf(process.threadCpuUsage(begin)))
  }
  return Math.max(1, leastMs / yardstickMs)
}

/** Runs `ask` and measures until it settles. The server must run in this thread. */
export async function costOf<T>(ask: () => Promise<T>): Promise<{ cost: Cost; result: T }> {
  const begin = process.cpuUsage()
  let longestTurnMs = 0
  let isOver = false
  let last = process.threadCpuUsage()
  const turn = (): void => {
    longestTurnMs = Math.max(longestTurnMs, msOf(process.threadCpuUsage(last)))
    last = process.threadCpuUsage()
    if (!isOver) setImmediate(turn)
  }
  setImmediate(turn)
  try {
    const result = await ask()
    // The last turn counts as well.
    await new Promise((resolve) => setImmediate(resolve))
    return { cost: { totalMs: msOf(process.cpuUsage(begin)), longestTurnMs }, result }
  } finally {
    isOver = true
  }
}
