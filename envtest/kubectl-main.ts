/** The process that envtest starts as kubectl: it runs the user's own, with the same words, and ends as that one ends. */
import { spawn } from 'node:child_process'
import { constants } from 'node:os'
import { environment } from '../components/component-base/environment.ts'
import { findKubectl } from './find-kubectl.ts'

const program = findKubectl(environment['PATH'] ?? '')
if (program === undefined) {
  process.stderr.write(
    'kubectl: no kubectl in PATH: install it, or set TEST_ASSET_KUBECTL to its path\n',
  )
  process.exitCode = 127
} else {
  const child = spawn(program, process.argv.slice(2), { stdio: 'inherit' })
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
    process.on(signal, () => child.kill(signal))
  }
  child.on('error', (error) => {
    process.stderr.write(`kubectl: cannot run ${program}: ${error.message}\n`)
    process.exitCode = 126
  })
  child.on('exit', (code, signal) => {
    process.exit(signal === null ? (code ?? 1) : 128 + constants.signals[signal])
  })
}
