/** FieldsTab: which manager owns which field, by which operation, since when. */
import { useMemo, useState } from 'preact/hooks'
import type { KubeObject } from '../../../../../components/machinery/objects/object.ts'
import { managerText } from '../edit/managers.ts'
import {
  countFields,
  fieldOwners,
  onlyFields,
  type ManagedFieldsEntry,
  type OwnedField,
} from './field-owners.ts'

const openDepth = 3

function ownersText(entries: readonly ManagedFieldsEntry[], owners: readonly number[]): string {
  return owners
    .map((index) => {
      const { operation = '', time = '' } = entries[index] ?? {}
      return `${managerText(entries[index] ?? {})}, ${operation}, ${time}`
    })
    .join('\n')
}

interface FieldProps {
  readonly field: OwnedField
  readonly entries: readonly ManagedFieldsEntry[]
  readonly depth: number
}

function FieldLine({ field, entries }: FieldProps) {
  const { label, owners, value } = field
  return (
    <span class="owned-line" title={ownersText(entries, owners)}>
      <span class="field-name">{label}</span>
      {value !== undefined && <span class="value"> {value}</span>}
      <span class="owners">
        {owners.map((index) => (
          <span key={index} class="chip">
            {managerText(entries[index] ?? {})}
          </span>
        ))}
        {owners.length > 1 && <span class="chip shared">shared by {owners.length}</span>}
      </span>
    </span>
  )
}

function Field(props: FieldProps) {
  const { field, entries, depth } = props
  if (field.fields.length === 0)
    return (
      <div class="leaf">
        <FieldLine {...props} />
      </div>
    )
  return (
    <details class="branch" open={depth < openDepth}>
      <summary>
        <FieldLine {...props} />
      </summary>
      {field.fields.map((one) => (
        <Field key={one.label} field={one} entries={entries} depth={depth + 1} />
      ))}
    </details>
  )
}

interface ManagersProps {
  readonly entries: readonly ManagedFieldsEntry[]
  readonly fields: readonly OwnedField[]
}

function Managers({ entries, fields }: ManagersProps) {
  return (
    <div class="scroll" role="region" aria-label="Managers" tabIndex={0}>
      <table class="plain">
        <thead>
          <tr>
            <th scope="col">Manager</th>
            <th scope="col">Operation</th>
            <th scope="col">Last write</th>
            <th scope="col">Fields</th>
          </tr>
        </thead>
        <tbody>
          {entries.map((entry, index) => (
            <tr key={index}>
              <td>{managerText(entry)}</td>
              <td>{entry.operation}</td>
              <td>{entry.time}</td>
              <td class="number">{countFields(fields, ({ owners }) => owners.includes(index))}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

export function FieldsTab({ object }: { readonly object: KubeObject }) {
  const [choice, setChoice] = useState('')
  const entries = (object.metadata.managedFields ?? []) as readonly ManagedFieldsEntry[]
  const fields = useMemo(() => fieldOwners(entries, object), [object])
  const isShared = ({ owners }: OwnedField): boolean => owners.length > 1
  const shared = countFields(fields, isShared)
  if (entries.length === 0) return <p class="empty">The server has recorded no field managers.</p>
  const chosen = Number(choice)
  const shown =
    choice === ''
      ? fields
      : onlyFields(fields, choice === 'shared' ? isShared : ({ owners }) => owners.includes(chosen))
  return (
    <>
      <Managers entries={entries} fields={fields} />
      <p>
        <label>
          Show fields of{' '}
          <select value={choice} onChange={({ currentTarget }) => setChoice(currentTarget.value)}>
            <option value="">all managers</option>
            <option value="shared">several managers at once ({shared})</option>
            {entries.map((entry, index) => (
              <option key={index} value={index}>
                {managerText(entry)} ({entry.operation})
              </option>
            ))}
          </select>
        </label>
      </p>
      {shared > 0 && choice === '' && (
        <p class="note">
          {shared} {shared === 1 ? 'field is' : 'fields are'} owned by several managers: an apply by
          one of them that sets another value is a conflict.
        </p>
      )}
      <div class="object-tree">
        {shown.map((field) => (
          <Field key={field.label} field={field} entries={entries} depth={0} />
        ))}
      </div>
    </>
  )
}
