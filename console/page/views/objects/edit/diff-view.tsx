/** DiffView: a difference by line. */
import { diffLines, shortDiff } from './line-diff.ts'

const context = 3
const signs = { same: ' ', added: '+', removed: '-' } as const
const words = { same: '', added: 'added: ', removed: 'removed: ' } as const

export interface DiffViewProps {
  readonly label: string
  readonly before: string
  readonly after: string
}

export function DiffView({ label, before, after }: DiffViewProps) {
  const parts = shortDiff(diffLines(before.split('\n'), after.split('\n')), context)
  const isSame = before === after
  if (isSame) return <p class="empty">Nothing changes.</p>
  return (
    <div class="diff" role="region" aria-label={label} tabIndex={0}>
      {parts.map((part, index) =>
        part.is === 'skipped' ? (
          <div key={index} class="diff-skipped">
            {part.count} unchanged {part.count === 1 ? 'line' : 'lines'}
          </div>
        ) : (
          <div key={index} class={`diff-${part.is}`}>
            <span aria-hidden="true">{signs[part.is]} </span>
            <span class="unseen">{words[part.is]}</span>
            {part.text}
          </div>
        ),
      )}
    </div>
  )
}
