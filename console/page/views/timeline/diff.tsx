/** Diff: the fields that a write changed, before and after. */
import { useEffect, useState } from 'preact/hooks'
import type { RequestRecord } from '../../../../components/api/request-record.ts'
import { readDiff, type RevisionDiff } from './revision-diff.ts'

type State = RevisionDiff | { readonly kind: 'failed'; readonly why: string } | undefined

function useDiff(record: RequestRecord): State {
  const [state, setState] = useState<State>()
  useEffect(() => {
    const left = new AbortController()
    setState(undefined)
    readDiff(record, left.signal).then(setState, (error: Error) => {
      if (!left.signal.aborted) setState({ kind: 'failed', why: error.message })
    })
    return () => left.abort()
  }, [record])
  return state
}

export function Diff({ record }: { readonly record: RequestRecord }) {
  const state = useDiff(record)
  if (state === undefined) return <p class="empty">Reading the two revisions</p>
  if (state.kind === 'failed') return <p class="empty">No diff: {state.why}</p>
  if (state.kind !== 'changed') return <p>The object was {state.kind}.</p>
  if (state.fields.length === 0)
    return <p class="empty">Nothing but metadata that changes with every write.</p>
  return (
    <table class="diff">
      <thead>
        <tr>
          <th>Field</th>
          <th>Before</th>
          <th>After</th>
        </tr>
      </thead>
      <tbody>
        {state.fields.map(({ path, before, after }) => (
          <tr key={path}>
            <td>
              <code>{path}</code>
            </td>
            <td class="before">{before}</td>
            <td class="after">{after}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
