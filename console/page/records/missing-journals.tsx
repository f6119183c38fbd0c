/** MissingJournals: which API servers' requests are not shown, and why. */
import { useChannel } from '../app/use-live.ts'
import type { JournalRow } from '../../protocol/live.ts'
import { clockText } from './record-text.ts'

/** Undefined when nothing is missing. */
function sentence({ server, state, sinceMs, why, isUnread, gap }: JournalRow): string | undefined {
  const since = clockText(sinceMs)
  const because = why === undefined ? '' : ` (${why})`
  switch (state) {
    case 'alone':
      return `Only requests of one API server (${server}) are shown: you may not list EndpointSlices in the namespace default, which name the others, if there are any.`
    case 'gone':
      return `The API server ${server} has left the cluster: ${isUnread === true ? 'its requests' : `requests that it answered after ${since}`} are missing.`
    case 'missing':
      return `The API server ${server} does not answer: ${isUnread === true ? 'all its requests' : `its requests since ${since}`} are missing${because}.`
    case 'read':
      if (gap === undefined) return undefined
      return `The API server ${server} was out of reach from ${clockText(gap.fromMs)} to ${clockText(gap.toMs)}: its reads of that time are missing, and writes from shortly before if it was killed.`
  }
}

export function MissingJournals() {
  const { rows } = useChannel('journals')
  return (
    <div role="status">
      {[...rows.values()].map((row) => {
        const text = sentence(row)
        return (
          text !== undefined && (
            <p key={row.server} class={row.state === 'read' ? 'dim' : 'tone-warn'}>
              {text}
            </p>
          )
        )
      })}
    </div>
  )
}
