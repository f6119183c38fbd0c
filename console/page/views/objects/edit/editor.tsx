/** Editor: YAML of an object, previewed by the server before it is applied. */
import type { ComponentChildren } from 'preact'
import type { Written } from './write-object.ts'
import { DiffView } from './diff-view.tsx'
import { FaultView } from './fault-view.tsx'
import { managerText } from './managers.ts'
import { TextArea } from './text-area.tsx'
import type { Editing, Step } from './use-editing.ts'

type StepOf<Is extends Step['is']> = Extract<Step, { readonly is: Is }>

function Warnings({ warnings }: { readonly warnings: readonly string[] }) {
  if (warnings.length === 0) return null
  return (
    <ul class="warnings" aria-label="Warnings of the server">
      {warnings.map((warning) => (
        <li key={warning}>{warning}</li>
      ))}
    </ul>
  )
}

function Preview({
  step,
  editing,
}: {
  readonly step: StepOf<'preview'>
  readonly editing: Editing
}) {
  const isSame = step.before === step.after
  return (
    <section>
      <h2>What the server would store</h2>
      <Warnings warnings={step.warnings} />
      <DiffView label="Difference" before={step.before} after={step.after} />
      <p class="actions">
        <button type="button" class="primary" disabled={isSame} onClick={editing.apply}>
          Apply
        </button>
        <button type="button" onClick={editing.back}>
          Go on editing
        </button>
      </p>
    </section>
  )
}

function Conflict({
  step,
  editing,
}: {
  readonly step: StepOf<'conflict'>
  readonly editing: Editing
}) {
  const { managers, base, newestText } = step
  return (
    <section>
      <div class="fault" role="alert">
        <p>The object has changed since you began. Your text is kept.</p>
        {managers.length > 0 && (
          <ul>
            {managers.map((entry, index) => (
              <li key={index}>
                <strong>{managerText(entry)}</strong> ({entry.operation}) wrote at {entry.time}
              </li>
            ))}
          </ul>
        )}
      </div>
      <h2>What changed meanwhile</h2>
      <DiffView label="What changed meanwhile" before={base} after={newestText} />
      <p class="actions">
        <button type="button" class="primary" onClick={editing.takeOver}>
          Take over the newest and go on editing
        </button>
        <button type="button" onClick={editing.back}>
          Go on editing without it
        </button>
      </p>
    </section>
  )
}

function Owned({ step, editing }: { readonly step: StepOf<'owned'>; readonly editing: Editing }) {
  return (
    <section>
      <FaultView fault={step.fault} />
      <p>
        These fields belong to other managers. Taking them makes the console their manager, and the
        others may set them again.
      </p>
      <p class="actions">
        <button type="button" class="danger" onClick={() => editing.preview(true)}>
          Preview taking them
        </button>
        <button type="button" onClick={editing.back}>
          Go on editing
        </button>
      </p>
    </section>
  )
}

function Text({ step, editing, cancel }: { readonly step: StepOf<'editing'> } & EditorProps) {
  const line = /\((\d+):\d+\)/.exec(step.fault?.message ?? '')?.[1]
  return (
    <section>
      {step.note !== undefined && (
        <p class="note" role="status">
          {step.note}
        </p>
      )}
      {step.fault !== undefined && <FaultView fault={step.fault} />}
      <TextArea
        label="YAML"
        text={editing.text}
        onText={editing.setText}
        markedLine={line === undefined ? undefined : Number(line)}
      />
      <p class="actions">
        <button type="button" class="primary" onClick={() => editing.preview()}>
          Preview
        </button>
        {cancel}
      </p>
    </section>
  )
}

export interface EditorProps {
  readonly editing: Editing
  /** Leaves the editor. */
  readonly cancel: ComponentChildren
  /** After the change is applied. */
  readonly done?: (written: Written) => ComponentChildren
}

export function Editor(props: EditorProps) {
  const { editing, done } = props
  const { step } = editing
  if (step.is === 'sending')
    return (
      <p class="empty" role="status">
        Asking the server
      </p>
    )
  if (step.is === 'preview') return <Preview step={step} editing={editing} />
  if (step.is === 'conflict') return <Conflict step={step} editing={editing} />
  if (step.is === 'owned') return <Owned step={step} editing={editing} />
  if (step.is === 'editing') return <Text step={step} {...props} />
  return (
    <section>
      <p class="note" role="status">
        Applied as revision {step.written.object.metadata.resourceVersion}.
      </p>
      <Warnings warnings={step.written.warnings} />
      {done?.(step.written)}
    </section>
  )
}
