/** Scenarios: those that ship with Skiff, and the one that runs, step by step. */
import { useEffect, useState } from 'preact/hooks'
import type { StepResult } from '../../../../scenarios/engine/scenario-result.ts'
import type { ScenarioRow } from '../../../protocol/lab.ts'
import { sendTo } from '../../app/api.ts'
import { messageOf } from '../../app/message-of.ts'
import type { ScenarioRun, SingleRun } from './scenario-lines.ts'
import { runScenario, scenarioRun, stopScenario } from './scenario-run.ts'

function useScenarios(): { rows: readonly ScenarioRow[]; fault: string | undefined } {
  const [rows, setRows] = useState<readonly ScenarioRow[]>([])
  const [fault, setFault] = useState<string>()
  useEffect(() => {
    const read = async (): Promise<void> => {
      try {
        setRows((await (await sendTo('/lab/scenarios')).json()) as ScenarioRow[])
      } catch (error) {
        setFault(messageOf(error))
      }
    }
    void read()
  }, [])
  return { rows, fault }
}

type Mark = StepResult['outcome'] | 'running' | 'waiting'
const marks: Readonly<Record<Mark, { sign: string; tone: string }>> = {
  passed: { sign: '✓', tone: 'tone-good' },
  failed: { sign: '✗', tone: 'tone-bad' },
  'not run': { sign: '–', tone: 'tone-dim' },
  running: { sign: '●', tone: 'tone-accent' },
  waiting: { sign: '○', tone: 'tone-dim' },
}

function Step({
  title,
  mark,
  result,
}: {
  readonly title: string
  readonly mark: Mark
  readonly result: StepResult | undefined
}) {
  const { sign, tone } = marks[mark]
  return (
    <li class="step">
      <span class={tone} aria-hidden="true">
        {sign}
      </span>{' '}
      {title} <span class="dim">{mark}</span>
      {result !== undefined && <span class="dim"> {(result.durationMs / 1000).toFixed(2)} s</span>}
      {result !== undefined && result.notes.length > 0 && (
        <pre class="dim">{result.notes.join('\n')}</pre>
      )}
      {result !== undefined && result.failure.length > 0 && (
        <pre class="tone-bad">{result.failure.join('\n')}</pre>
      )}
    </li>
  )
}

interface SingleProps {
  readonly single: SingleRun
  readonly isRunning: boolean
  readonly titles: readonly string[]
}

function outcomeOf({ result }: SingleRun, isRunning: boolean): string {
  return result?.outcome ?? (isRunning ? 'running' : 'stopped')
}

/** Passed: every combination has. */
function outcomeOfAll({ isRunning, runs, error }: ScenarioRun): string {
  if (isRunning) return 'running'
  if (error !== undefined || runs.length === 0) return 'stopped'
  return runs.map((single) => outcomeOf(single, false)).find((one) => one !== 'passed') ?? 'passed'
}

function Single({ single, isRunning, titles }: SingleProps) {
  const { steps, result } = single
  const ended = result?.steps ?? steps
  const goesOn = isRunning && result === undefined
  return (
    <>
      <ol class="steps" aria-live="polite">
        {titles.map((title, at) => {
          const step = ended[at]
          const pending = goesOn && at === ended.length ? 'running' : 'waiting'
          return <Step key={at} {...{ title, result: step, mark: step?.outcome ?? pending }} />
        })}
      </ol>
      {(result?.failure ?? []).map((line) => (
        <p key={line} class="tone-bad">
          {line}
        </p>
      ))}
    </>
  )
}

/** With a matrix, each combination has a heading of its own. */
function Run({ run, titles }: { readonly run: ScenarioRun; readonly titles: readonly string[] }) {
  const { name, isRunning, runs, error } = run
  const isMatrix = runs.some((single) => single.name !== name)
  return (
    <section class="panel" aria-label={`Run of ${name}`}>
      <div class="panel-head">
        <h3>
          {name}: {outcomeOfAll(run)}
        </h3>
        {isRunning && (
          <button type="button" onClick={stopScenario}>
            Stop
          </button>
        )}
      </div>
      {runs.map((single) => (
        <div key={single.name}>
          {isMatrix && (
            <h4>
              {single.name}: {outcomeOf(single, isRunning)}
            </h4>
          )}
          <Single {...{ single, isRunning, titles }} />
        </div>
      ))}
      {error !== undefined && <p class="tone-bad">{error}</p>}
    </section>
  )
}

export function Scenarios({ isFixed }: { readonly isFixed: boolean }) {
  const { rows, fault } = useScenarios()
  const [isHere, setIsHere] = useState(false)
  const run = scenarioRun.value
  const titles = rows.find(({ name }) => name === run?.name)?.steps ?? []
  return (
    <section aria-labelledby="scenarios">
      <h2 id="scenarios">Scenarios</h2>
      <label class="filters">
        <span>
          <input
            type="checkbox"
            checked={isHere}
            onChange={({ currentTarget }) => setIsHere(currentTarget.checked)}
          />{' '}
          Run on this cluster, which the other views show; otherwise each run has a new cluster
        </span>
      </label>
      {fault !== undefined && <p class="tone-bad">{fault}</p>}
      {run !== undefined && <Run run={run} titles={titles} />}
      <ul class="cards">
        {rows.map(({ name, description, steps }) => (
          <li key={name} class="panel">
            <div class="panel-head">
              <h3>{name}</h3>
              <button
                type="button"
                aria-label={`Run ${name}`}
                disabled={isFixed || run?.isRunning === true}
                onClick={() => void runScenario(name, isHere)}
              >
                Run
              </button>
            </div>
            <p>{description}</p>
            <details>
              <summary>{steps.length} steps</summary>
              <ol>
                {steps.map((title, at) => (
                  <li key={at}>{title}</li>
                ))}
              </ol>
            </details>
          </li>
        ))}
      </ul>
    </section>
  )
}
