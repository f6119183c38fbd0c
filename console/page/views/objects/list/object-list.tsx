/** ObjectList: the objects of one kind. */
import { useMemo, useState } from 'preact/hooks'
import { apiPath } from '../../../app/object-place.ts'
import { place } from '../../../app/router.ts'
import { Ended } from '../../../parts/ended.tsx'
import { useNow } from '../../../parts/use-now.ts'
import type { Kind } from '../kinds/kinds.ts'
import { qualifiedName } from '../kinds/kinds.ts'
import { goToQuery, ListToolbar } from './list-toolbar.tsx'
import { ObjectTable } from './object-table.tsx'
import { filterRows, shownColumns, sortRows, type Sorting } from './shown-rows.ts'
import { useRows } from './use-rows.ts'

/** `Name` upwards, `-Name` downwards. */
function sortingOf(text: string): Sorting {
  const isDescending = text.startsWith('-')
  return { column: isDescending ? text.slice(1) : text, isDescending }
}

function nextSort({ column, isDescending }: Sorting, clicked: string): string | undefined {
  if (column !== clicked) return clicked
  return isDescending ? undefined : `-${clicked}`
}

function countText(shown: number, all: number): string {
  if (shown !== all) return `${shown.toLocaleString('en')} of ${all.toLocaleString('en')}`
  return all.toLocaleString('en')
}

export function ObjectList({ kind }: { readonly kind: Kind }) {
  const { query } = place.value
  const namespace = kind.isNamespaced ? (query.get('namespace') ?? '') : ''
  const table = useRows(
    {
      path: apiPath(kind, { namespace }),
      labelSelector: query.get('labels') ?? '',
      fieldSelector: query.get('fields') ?? '',
    },
    kind.verbs.includes('watch'),
  )
  const [filter, setFilter] = useState('')
  const nowMs = useNow()
  const isWide = query.get('wide') === '1'
  const sort = query.get('sort') ?? ''
  const sorting = sortingOf(sort)
  const hasNamespace = kind.isNamespaced && namespace === ''
  const { columns: own, marks, version } = table
  // Expires once a second, with the ages.
  marks.expire(nowMs)
  const gone = marks.gone()
  const columns = useMemo(
    () => shownColumns(own, { isWide, hasNamespace }),
    [own, isWide, hasNamespace],
  )
  const rows = useMemo(() => {
    const all = gone.length === 0 ? table.rows.values() : [...table.rows.values(), ...gone]
    return sortRows(filterRows(all, filter), columns, sortingOf(sort))
  }, [table.rows, version, gone.length, filter, columns, sort])
  const hasWide = own.some(({ priority = 0 }) => priority > 0)
  const where = namespace === '' && kind.isNamespaced ? ' in all namespaces' : ''
  return (
    <>
      <h1>
        {kind.kind} <small>{qualifiedName(kind)}</small>
        {table.isWhole && table.end === undefined && (
          <span class="count" role="status">
            {countText(rows.length - gone.length, table.rows.size)}
          </span>
        )}
      </h1>
      <ListToolbar {...{ isNamespaced: kind.isNamespaced, hasWide, filter, onFilter: setFilter }} />
      <Ended live={{ ...table, changed: undefined }} what={`${qualifiedName(kind)}${where}`} />
      {table.end?.code === 403 && where !== '' && (
        <p class="empty">Type a namespace that you may see into the field above.</p>
      )}
      {table.isWhole && table.end === undefined && rows.length === 0 && (
        <p class="empty">There are no {qualifiedName(kind)} here.</p>
      )}
      {rows.length > 0 && table.end === undefined && (
        <ObjectTable
          {...{ kind, rows, columns, marks, sorting, nowMs, version }}
          label={`${kind.kind} objects`}
          onSort={(column) => goToQuery({ sort: nextSort(sorting, column) })}
        />
      )}
    </>
  )
}
