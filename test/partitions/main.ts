/**
 * The process of a drill, first in namespaces of its own. Its argument is DrillOptions as JSON. Faults go to standard error, the report
 * to standard output. It ends when standard input does, and everything in its namespaces with it.
 */
import { runDrill } from './drill.ts'
import type { DrillOptions } from './report.ts'

process.stdin.on('end', () => process.exit(1)).resume()
const options = JSON.parse(process.argv[2] ?? '{}') as DrillOptions
const began = performance.now()
const report = await runDrill(options, (line) => {
  process.stderr.write(`${((performance.now() - began) / 1000).toFixed(1)} s: ${line}\n`)
})
process.stdout.write(`${JSON.stringify(report)}\n`, () => process.exit(0))
