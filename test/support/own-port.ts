/** Ports that stay a test's own also while nothing listens there: no other test process of the run hands them out. */
import { listeningPorts } from './listening-ports.ts'

const perWorker = 2000
/** Below the ports that systems give to clients, and below those of the stand-ins in test/cluster. */
const first = 10_000 + ((Number(process.env['VITEST_POOL_ID'] ?? 1) - 1) % 5) * perWorker
let at = Math.floor(Math.random() * perWorker)

/** The next one that is free. */
export function ownPort(): number {
  const taken = listeningPorts()
  for (let tries = 0; tries < perWorker; tries += 1) {
    at = (at + 1) % perWorker
    if (!taken.has(first + at)) return first + at
  }
  throw new Error('every port is taken')
}
