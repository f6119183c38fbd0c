/** ControllerUnderTest: how the controller is started and killed, again and again. */
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { lastLines } from '../cluster/log-tail.ts'
import { describeEnd, startProcess } from '../scenarios/engine/kept-process.ts'

export interface RunningController {
  /** Resolves when it has ended, with how it did. */
  readonly ended: Promise<string>
  /** Resolves when nothing of it runs any more. */
  kill(): Promise<void>
  /** The last lines that it wrote. */
  output(): readonly string[]
  /** How much it has written. */
  readonly outputBytes: number
}

export interface ControllerUnderTest {
  /** `kubeconfig`: the text of its kubeconfig. */
  start(kubeconfig: string): RunningController
}

const mostLines = 20

/** A shell command, which finds its cluster by KUBECONFIG. It is killed with all that it has started. */
export function commandController(command: string, cwd: string): ControllerUnderTest {
  return {
    start: (kubeconfig) => {
      const folder = mkdtempSync(join(tmpdir(), 'skiff-explore-'))
      const file = join(folder, 'kubeconfig')
      const log = join(folder, 'log')
      writeFileSync(file, kubeconfig, { mode: 0o600 })
      const running = startProcess(
        { command, cwd, outputFile: log, errorFile: log },
        { id: '', files: { kubeconfig: file } },
      )
      let lines: readonly string[] | undefined
      const ended = running.ended.then((end) => {
        lines = lastLines(log, mostLines)
        rmSync(folder, { recursive: true, force: true })
        return describeEnd(end)
      })
      return {
        ended,
        kill: async () => {
          await running.kill()
          await ended
        },
        output: () => lines ?? lastLines(log, mostLines),
        get outputBytes() {
          return statSync(log, { throwIfNoEntry: false })?.size ?? 0
        },
      }
    },
  }
}
