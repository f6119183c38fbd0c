/** JoinCard: one node's way in. */
import { clockText } from '../../records/record-text.ts'
import type { Join, JoinStep } from './joins.ts'

const marks: Readonly<Record<JoinStep['state'], { sign: string; tone: string; said: string }>> = {
  done: { sign: '✓', tone: 'tone-good', said: 'done' },
  waiting: { sign: '●', tone: 'tone-warn', said: 'waiting' },
  failed: { sign: '✗', tone: 'tone-bad', said: 'failed' },
  unseen: { sign: '◌', tone: 'tone-dim', said: 'not seen by the server' },
  later: { sign: '○', tone: 'tone-dim', said: 'not yet' },
}
const outcomeTone = { joined: 'tone-good', joining: 'tone-accent', stopped: 'tone-bad' } as const

function Step({ step }: { readonly step: JoinStep }) {
  const { title, state, text, atMs } = step
  const { sign, tone, said } = marks[state]
  return (
    // A new key lets what just changed glow.
    <li class="join-step glows" key={state}>
      <span class={tone} role="img" aria-label={said}>
        {sign}
      </span>
      <strong>{title}</strong>
      <span class="dim">{atMs === undefined ? '' : clockText(atMs)}</span>
      <span class={state === 'failed' ? 'tone-bad' : 'dim'}>{text}</span>
    </li>
  )
}

export function JoinCard({ join }: { readonly join: Join }) {
  const { node, tokenId, outcome, startedMs, steps } = join
  return (
    <li class="panel" aria-label={`Join of ${node ?? 'a node without a name'}`}>
      <div class="panel-head">
        <h2>{node ?? 'A node without a name'}</h2>
        <span class="dim">
          {tokenId === '' ? '' : `token ${tokenId}, `}
          {clockText(startedMs)}
        </span>
        <strong class={outcomeTone[outcome]}>{outcome}</strong>
      </div>
      <ol class="join-steps">
        {steps.map((step) => (
          <Step key={`${step.id} ${step.state}`} step={step} />
        ))}
      </ol>
    </li>
  )
}
