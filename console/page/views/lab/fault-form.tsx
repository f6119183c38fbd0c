/** FaultForm: adds a fault. What the console finds wrong with it stands at its field. */
import { useState } from 'preact/hooks'
import type { FaultKind } from '../../../../cluster/lab/fault-spec.ts'
import { ApiError, sendTo } from '../../app/api.ts'
import { messageOf } from '../../app/message-of.ts'
import { useChannel } from '../../app/use-live.ts'
import { fieldFaults, type FieldFault } from '../../parts/faults.ts'
import { faultExamples, type FaultExample } from './fault-examples.ts'
import {
  faultForms,
  faultKindNames,
  faultOf,
  fieldsOf,
  type FaultField,
  type FaultValues,
} from './fault-fields.ts'

interface InputProps {
  readonly field: FaultField
  readonly value: string
  readonly fault: string | undefined
  readonly onValue: (value: string) => void
}

function Input({ field, value, fault, onValue }: InputProps) {
  const { path, label, is, choices } = field
  const id = `fault-${path}`
  const shared = {
    id,
    value,
    'aria-invalid': fault !== undefined,
    'aria-describedby': fault === undefined ? undefined : `${id}-fault`,
  }
  return (
    <div class="fault-field">
      <label for={id}>{label}</label>
      {choices === undefined ? (
        <input
          {...shared}
          list={is === 'part' ? 'fault-parts' : undefined}
          inputMode={is === 'number' ? 'decimal' : undefined}
          placeholder={is === 'list' ? 'any; commas between several' : undefined}
          onInput={({ currentTarget }) => onValue(currentTarget.value)}
        />
      ) : (
        <select {...shared} onChange={({ currentTarget }) => onValue(currentTarget.value)}>
          {choices.map((one) => (
            <option key={one}>{one}</option>
          ))}
        </select>
      )}
      {fault !== undefined && (
        <span id={`${id}-fault`} class="tone-bad">
          {fault}
        </span>
      )}
    </div>
  )
}

function Choice({
  label,
  value,
  choices,
  onValue,
}: {
  readonly label: string
  readonly value: string
  readonly choices: readonly string[]
  readonly onValue: (value: string) => void
}) {
  return (
    <label class="fault-field">
      {label}
      <select value={value} onChange={({ currentTarget }) => onValue(currentTarget.value)}>
        {choices.map((one) => (
          <option key={one}>{one}</option>
        ))}
      </select>
    </label>
  )
}

interface Filled {
  readonly kind: FaultKind
  readonly action: string
  readonly values: FaultValues
}

const firstAction = (kind: FaultKind): string => faultForms[kind].actions[0]?.label ?? ''
const empty: Filled = { kind: 'requests', action: firstAction('requests'), values: {} }

interface Refusal {
  readonly message: string
  readonly fields: readonly FieldFault[]
}

/** Sends the filled form. */
function useAdd() {
  const [isSending, setSending] = useState(false)
  const [refusal, setRefusal] = useState<Refusal>()
  const add = async ({ kind, action, values }: Filled): Promise<void> => {
    setSending(true)
    setRefusal(undefined)
    try {
      await sendTo('/lab/faults', { method: 'POST', body: faultOf(kind, action, values) })
    } catch (error) {
      const fields = error instanceof ApiError ? fieldFaults(error.details) : []
      setRefusal({ message: messageOf(error), fields })
    } finally {
      setSending(false)
    }
  }
  return { isSending, refusal, add, forget: () => setRefusal(undefined) }
}

function Examples({
  examples,
  onChoose,
}: {
  readonly examples: readonly FaultExample[]
  readonly onChoose: (filled: Filled) => void
}) {
  return (
    <div class="buttons" role="group" aria-label="Examples of faults">
      {examples.map(({ title, ...filled }) => (
        <button key={title} type="button" onClick={() => onChoose(filled)}>
          {title}
        </button>
      ))}
    </div>
  )
}

function PartNames({ names }: { readonly names: readonly string[] }) {
  return (
    <datalist id="fault-parts">
      {names.map((name) => (
        <option key={name} value={name} />
      ))}
    </datalist>
  )
}

function Refused({ refusal }: { readonly refusal: Refusal | undefined }) {
  if (refusal === undefined) return null
  return (
    <p role="alert" class="lab-fault tone-bad">
      {refusal.message}
    </p>
  )
}

export function FaultForm({ isFixed }: { readonly isFixed: boolean }) {
  const parts = [...useChannel('components').rows.values()]
  const node = parts.find(({ program }) => program === 'node-agent')?.name ?? 'node-1'
  const [filled, setFilled] = useState(empty)
  const { isSending, refusal, add, forget } = useAdd()
  const { kind, action, values } = filled
  const fill = (next: Filled): void => {
    forget()
    setFilled(next)
  }
  const { actions } = faultForms[kind]
  const faultOfField = new Map(refusal?.fields.map(({ field, message }) => [field, message]))
  return (
    <form
      class="fault-form"
      aria-label="Add a fault"
      onSubmit={(event) => {
        event.preventDefault()
        void add(filled)
      }}
    >
      <Examples examples={faultExamples(node)} onChoose={fill} />
      <PartNames names={parts.map(({ name }) => name)} />
      <div class="fault-fields">
        <Choice
          label="Kind"
          value={kind}
          choices={faultKindNames}
          onValue={(one) => {
            const next = faultKindNames.find((name) => name === one) ?? kind
            fill({ kind: next, action: firstAction(next), values: {} })
          }}
        />
        {actions.length > 1 && (
          <Choice
            label="What happens"
            value={action}
            choices={actions.map(({ label }) => label)}
            onValue={(next) => fill({ ...filled, action: next })}
          />
        )}
        {fieldsOf(kind, action).map((field) => (
          <Input
            key={field.path}
            field={field}
            value={values[field.path] ?? field.choices?.[0] ?? ''}
            fault={faultOfField.get(field.path)}
            onValue={(value) => fill({ ...filled, values: { ...values, [field.path]: value } })}
          />
        ))}
      </div>
      <p>
        <button type="submit" disabled={isFixed || isSending}>
          Add fault
        </button>
      </p>
      <Refused refusal={refusal} />
    </form>
  )
}
