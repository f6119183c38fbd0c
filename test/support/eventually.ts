/** eventually: waits for what another part of the program brings about, without a guess of how long that takes. */
import { setTimeout as delay } from 'node:timers/promises'

/** The first value `attempt` gives without throwing; its last error when that takes longer than `withinMs`. */
export async function eventually<T>(attempt: () => T | Promise<T>, withinMs = 120_000): Promise<T> {
  const end = performance.now() + withinMs
  for (;;) {
    try {
      return await attempt()
    } catch (error) {
      if (performance.now() > end) throw error
      await delay(5)
    }
  }
}
