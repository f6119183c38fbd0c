/** Scrubber: takes the whole page back to the revision of a write, as far as history reaches. */
import type { RequestRecord } from '../../../../components/api/request-record.ts'
import { at, showAt } from '../../app/time.ts'
import { actorOf, clockText, targetOf, verbOf } from '../../records/record-text.ts'

/** `writes`: those with a revision, oldest first. */
export function Scrubber({ writes }: { readonly writes: readonly RequestRecord[] }) {
  if (writes.length === 0) return null
  const last = writes.length - 1
  const found = writes.findIndex(({ revision }) => revision === at.value)
  const index = found < 0 ? last : found
  const record = writes[index]
  const isLive = at.value === undefined
  const text =
    isLive || record === undefined
      ? 'live'
      : `${clockText(record.atMs)}, after ${actorOf(record)} ${verbOf(record)} ${targetOf(record)}`
  return (
    <div class="scrubber">
      <label>
        <span>Moment</span>
        <input
          type="range"
          min="0"
          max={last}
          value={index}
          aria-valuetext={text}
          onInput={({ currentTarget }) => {
            const chosen = Number(currentTarget.value)
            showAt(chosen === last ? undefined : writes[chosen]?.revision)
          }}
        />
      </label>
      <output>{text}</output>
    </div>
  )
}
