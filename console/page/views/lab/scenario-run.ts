/** scenario-run: the scenario that this page runs. It goes on while other views are shown, and ends with the page. */
import { computed, signal } from '@preact/signals'
import type { ScenarioLine } from '../../../protocol/lab.ts'
import { sendTo } from '../../app/api.ts'
import { messageOf } from '../../app/message-of.ts'
import { jsonLines } from './json-lines.ts'
import { begun, withLine, type ScenarioRun } from './scenario-lines.ts'

const runSignal = signal<ScenarioRun | undefined>(undefined)
let stopping: AbortController | undefined

/** The last one. */
export const scenarioRun = computed(() => runSignal.value)

function add(line: ScenarioLine): void {
  if (runSignal.value !== undefined) runSignal.value = withLine(runSignal.value, line)
}

/** `isHere`: on the shown cluster instead of a new one. */
export async function runScenario(name: string, isHere: boolean): Promise<void> {
  if (runSignal.value?.isRunning === true) return
  const stop = new AbortController()
  stopping = stop
  runSignal.value = begun(name)
  try {
    const { body } = await sendTo(`/lab/scenarios/${encodeURIComponent(name)}`, {
      method: 'POST',
      query: { on: isHere ? 'this' : undefined },
      signal: stop.signal,
    })
    if (body !== null) for await (const line of jsonLines(body)) add(line as ScenarioLine)
  } catch (error) {
    const text = messageOf(error)
    add({ error: stop.signal.aborted ? 'You have stopped it.' : text })
  }
  if (runSignal.value !== undefined) runSignal.value = { ...runSignal.value, isRunning: false }
}

export function stopScenario(): void {
  stopping?.abort()
}
