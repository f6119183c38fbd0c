/** Scenario runs: one at a time, each for as long as the page reads its lines. */
import type { ServerResponse } from 'node:http'
import type { Clock } from '../../../components/component-base/clock.ts'
import { messageOf } from '../../../components/component-base/log.ts'
import { StatusError } from '../../../components/machinery/objects/status-error.ts'
import { runScenarios } from '../../../scenarios/engine/runner.ts'
import { readScenario, type Scenario } from '../../../scenarios/engine/scenario.ts'
import { scenarioNameOf, shippedFiles } from '../../../scenarios/engine/shipped-scenarios.ts'
import type { ScenarioLine, ScenarioRow } from '../../protocol/lab.ts'

export function listScenarios(files = shippedFiles): ScenarioRow[] {
  return files().map((file) => {
    const { name, description, steps } = readScenario(file)
    return { name, description, steps: steps.map(({ title }) => title) }
  })
}

function scenarioNamed(name: string, files: () => readonly string[]): Scenario {
  const file = files().find((one) => scenarioNameOf(one) === name)
  if (file === undefined) throw new StatusError('NotFound', `there is no scenario "${name}"`)
  return readScenario(file)
}

interface ScenarioRun {
  readonly name: string
  readonly stateRoot: string
  /** Absent: a new cluster, which ends with the run, and with this process however that ends. */
  readonly clusterName: string | undefined
}

export interface ScenarioRuns {
  /** Writes a line for each step that ends. The run stops when the response closes. Throws a StatusError when it does not begin. */
  run(run: ScenarioRun, response: ServerResponse): Promise<void>
  /** Stops the run, and lets no other begin. Resolves when its cluster is gone. */
  close(): Promise<void>
}

/** `files`: the scenarios that there are. */
export function createScenarioRuns(clock: Clock, files = shippedFiles): ScenarioRuns {
  const closed = new AbortController()
  let running: Promise<void> | undefined
  const runOne = async (
    scenario: Scenario,
    { stateRoot, clusterName }: ScenarioRun,
    response: ServerResponse,
  ): Promise<void> => {
    const left = new AbortController()
    response.on('close', () => left.abort(new Error('the page has stopped it')))
    const write = (line: ScenarioLine): void =>
      void (response.writable && response.write(`${JSON.stringify(line)}\n`))
    response.writeHead(200, { 'content-type': 'application/json' })
    response.flushHeaders()
    try {
      await runScenarios([scenario], {
        clock,
        stateRoot,
        clusterName,
        keep: false,
        signal: AbortSignal.any([left.signal, closed.signal]),
        onScenario: ({ name }) => write({ run: name }),
        onStep: (step) => write({ step }),
        onResult: (result) => write({ result }),
      })
    } catch (error) {
      write({ error: messageOf(error) })
    }
    response.end()
  }
  return {
    run: async (wanted, response) => {
      const scenario = scenarioNamed(wanted.name, files)
      if (running !== undefined || closed.signal.aborted) {
        throw new StatusError('Conflict', 'a scenario is running: stop it first')
      }
      running = runOne(scenario, wanted, response)
      try {
        await running
      } finally {
        running = undefined
      }
    },
    close: async () => {
      closed.abort(new Error('the console ends'))
      await running
    },
  }
}
