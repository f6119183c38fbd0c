/** MissingJournals: which API servers' requests are not shown, and why. */
import { useChannel } from '../app/use-live.ts'
import type { JournalRow } from '../../protocol/live.ts'
import { clockText } from './record-text.ts'

function sentence({ server, state, sinceMs, why }: JournalRow): string {
  const since = clockText(sinceMs)
  if (state === 'gone')
    return `The API server ${server} has left the cluster: requests that it answered after ${since} are missing.`
  return `The API server ${server} does not answer: its requests since ${since} are missing${why === undefined ? '' : ` (${why})`}.`
}

export function MissingJournals() {
  const { rows } = useChannel('journals')
  const missing = [...rows.values()].filter(({ state }) => state !== 'read')
  return (
    <div role="status">
      {missing.map((row) => (
        <p key={row.server} class="tone-warn">
          {sentence(row)}
        </p>
      ))}
    </div>
  )
}
