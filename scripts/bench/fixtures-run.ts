/** One process that uses the fixtures as a test file does: prints how long its first test waits for the cluster. Run by embedded.ts. */
import { performance } from 'node:perf_hooks'
import { pathToFileURL } from 'node:url'
import { systemClock } from '../../components/component-base/clock.ts'
import type { startCluster as StartCluster } from '../../library/index.ts'

/** From the import of the fixtures to the first test: a runner collects the file's tests meanwhile. */
const collectingMs = 200

const [library = '', fixtures = ''] = process.argv.slice(2)
await import(pathToFileURL(fixtures).href)
const { startCluster } = (await import(pathToFileURL(library).href)) as {
  startCluster: typeof StartCluster
}
await systemClock.sleep(collectingMs)
const startedAt = performance.now()
const cluster = await startCluster()
const waitedMs = performance.now() - startedAt
await cluster.stop()
process.stdout.write(`${JSON.stringify({ waitedMs })}\n`)
