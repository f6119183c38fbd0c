/** ListToolbar: which objects of a kind the list shows. What is chosen is kept in the place, so that a link shows the same. */
import { useEffect, useId, useState } from 'preact/hooks'
import { useTable } from '../../../app/use-live.ts'
import { goTo, place } from '../../../app/router.ts'

/** The query of the list's place with some values replaced; undefined removes one. */
export function goToQuery(changed: Readonly<Record<string, string | undefined>>): void {
  const { parts, query } = place.peek()
  goTo(parts, { ...Object.fromEntries(query), ...changed })
}

interface FieldProps {
  readonly label: string
  readonly name: string
  readonly placeholder: string
  readonly list?: string
}

/** Takes effect with Enter or when the field is left: half a selector is an error. */
function QueryField({ label, name, placeholder, list }: FieldProps) {
  const given = place.value.query.get(name) ?? ''
  const [text, setText] = useState(given)
  useEffect(() => setText(given), [given])
  const take = (value: string): void => {
    if (value.trim() !== given) goToQuery({ [name]: value.trim() })
  }
  return (
    <label>
      {label}
      <input
        value={text}
        placeholder={placeholder}
        list={list}
        spellcheck={false}
        autocapitalize="off"
        autocomplete="off"
        onInput={({ currentTarget }) => setText(currentTarget.value)}
        onChange={({ currentTarget }) => take(currentTarget.value)}
        onKeyDown={({ key, currentTarget }) => {
          if (key === 'Enter') take(currentTarget.value)
        }}
      />
    </label>
  )
}

function NamespaceField() {
  const namespaces = useTable({ path: '/api/v1/namespaces' })
  const id = useId()
  const names = [...namespaces.rows.values()].map(({ name }) => name).toSorted()
  return (
    <>
      <QueryField label="Namespace" name="namespace" placeholder="all" list={id} />
      <datalist id={id}>
        {names.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
    </>
  )
}

export interface ListToolbarProps {
  readonly isNamespaced: boolean
  readonly hasWide: boolean
  readonly filter: string
  readonly onFilter: (filter: string) => void
}

export function ListToolbar({ isNamespaced, hasWide, filter, onFilter }: ListToolbarProps) {
  const isWide = place.value.query.get('wide') === '1'
  return (
    <form class="toolbar" role="search" onSubmit={(event) => event.preventDefault()}>
      {isNamespaced && <NamespaceField />}
      <label>
        Filter
        <input
          type="search"
          value={filter}
          placeholder="text of a cell or label"
          onInput={({ currentTarget }) => onFilter(currentTarget.value)}
        />
      </label>
      <QueryField label="Labels" name="labels" placeholder="app=web,tier!=db" />
      <QueryField label="Fields" name="fields" placeholder="metadata.name=web" />
      {hasWide && (
        <label class="check">
          <input
            type="checkbox"
            checked={isWide}
            onChange={() => goToQuery({ wide: isWide ? undefined : '1' })}
          />
          All columns
        </label>
      )}
    </form>
  )
}
