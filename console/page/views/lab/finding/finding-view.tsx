/** FindingView: what a controller did wrong under a plan of `skiff explore`, and how it came to it. */
import { CommandLine } from '../../../parts/command-line.tsx'
import { TableFrame } from '../../../parts/table-frame.tsx'
import { RunTable } from './run-table.tsx'
import type { Finding, WrongState } from './read-finding.ts'
import { replayLine } from './replay-line.ts'
import { sentenceOf } from './sentence.ts'

const inReference: Readonly<Record<string, string>> = {
  missing: 'is there',
  'left-behind': 'is not there',
  'made-twice': 'is there once',
}
const inPlan: Readonly<Record<string, string>> = {
  missing: 'is missing',
  'left-behind': 'is left behind',
  'made-twice': 'was made twice',
}

function Values({ one }: { readonly one: WrongState }) {
  const { kind, text, object, expected, actual } = one
  if (object === undefined) return <td colSpan={2}>{text}</td>
  if (kind === 'differs')
    return (
      <>
        <td>
          <pre>{expected ?? 'nothing'}</pre>
        </td>
        <td>
          <pre>{actual ?? 'nothing'}</pre>
        </td>
      </>
    )
  return (
    <>
      <td>{inReference[kind] ?? ''}</td>
      <td>{inPlan[kind] ?? text}</td>
    </>
  )
}

interface FindingViewProps {
  readonly finding: Finding
  /** Its name. */
  readonly file: string
}

export function FindingView({ finding, file }: FindingViewProps) {
  const { faults, wrong, rows, leftOut, story, kind, seconds } = finding
  return (
    <section class="panel finding" aria-label="Finding">
      <h3>{sentenceOf(finding)}</h3>
      <p class="dim">
        Plan of the kind {kind} for the story {story}. The reference took{' '}
        {seconds.reference.toFixed(1)} s, the plan {seconds.plan.toFixed(1)} s.
      </p>
      <h4>What the plan does</h4>
      <ul>
        {faults.map((text, index) => (
          <li key={index}>{text}</li>
        ))}
      </ul>
      <h4>What is different at the end</h4>
      <TableFrame
        label="Differences at the end"
        columns={['Step', 'Object', 'Field', 'Reference', 'Plan']}
      >
        {wrong.map((one, index) => (
          <tr key={index}>
            <td>{one.step === 0 ? 'before the first' : one.step}</td>
            <td>{one.object}</td>
            <td>{one.path}</td>
            <Values one={one} />
          </tr>
        ))}
      </TableFrame>
      <h4>What the controller did</h4>
      <RunTable rows={rows} />
      {leftOut > 0 && <p class="dim">{leftOut} more lines are in the file.</p>}
      <h4>How to replay it</h4>
      <p class="dim">
        In the folder of the file, with the command of your controller. It exits with 1 while the
        finding is there, and with 0 once it is gone.
      </p>
      <CommandLine text={replayLine(file)} label="Command that replays the plan" />
    </section>
  )
}
