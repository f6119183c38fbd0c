/** OwnersTab: an object with its owners and what it owns, as a graph. */
import type { KubeObject } from '../../../../../components/machinery/objects/object.ts'
import { objectPlace } from '../../../app/object-place.ts'
import { linkTo } from '../../../app/router.ts'
import { at } from '../../../app/time.ts'
import type { Kind } from '../kinds/kinds.ts'
import { toneOf } from '../list/tone.ts'
import { layoutFamily, memberSize, type PlacedMember } from './family-graph.ts'
import { useFamily, type ShownMember } from './use-family.ts'

/** Characters that fit. */
const mostCharacters = 27
const margin = 8

function shortened(text: string): string {
  if (text.length <= mostCharacters) return text
  const half = (mostCharacters - 1) >> 1
  return `${text.slice(0, half)}…${text.slice(-half)}`
}

function Edge({
  from,
  to,
}: {
  readonly from: PlacedMember<ShownMember>
  readonly to: PlacedMember<ShownMember>
}) {
  const { width, height } = memberSize
  const [x1, y1] = [from.x + width, from.y + height / 2]
  const [x2, y2] = [to.x, to.y + height / 2]
  const middle = (x1 + x2) / 2
  return <path class="edge" d={`M${x1} ${y1} C${middle} ${y1} ${middle} ${y2} ${x2} ${y2}`} />
}

function Member({
  placed,
  isFocus,
}: {
  readonly placed: PlacedMember<ShownMember>
  readonly isFocus: boolean
}) {
  const { member, x, y } = placed
  const { kind, name, namespace, state, place, change } = member
  const glow = change === 0 ? '' : change % 2 === 0 ? 'glow-even' : 'glow-odd'
  const label = `${kind} ${name}${state === '' ? '' : `, ${state}`}`
  const box = (
    <>
      <rect width={memberSize.width} height={memberSize.height} rx="6" class={glow} />
      <text x="10" y="18" class="member-kind">
        {kind}
        <tspan class={`member-state tone-${toneOf(state.split(' ').at(-1) ?? '') ?? 'none'}`}>
          {' '}
          {shortened(state)}
        </tspan>
      </text>{' '}
      <text x="10" y="35">
        {shortened(name)}
      </text>
    </>
  )
  return (
    <g transform={`translate(${x} ${y})`} class={isFocus ? 'member focus' : 'member'}>
      <title>{label}</title>
      {place === undefined ? (
        box
      ) : (
        <a
          href={linkTo(objectPlace(place, { namespace, name }), { tab: 'owners' })}
          aria-current={isFocus ? 'true' : undefined}
        >
          {box}
        </a>
      )}
    </g>
  )
}

export interface OwnersTabProps {
  readonly kinds: readonly Kind[]
  readonly object: KubeObject
}

function LiveOwners({ kinds, object }: OwnersTabProps) {
  const { members, isWhole, notRead } = useFamily(kinds, object)
  const graph = layoutFamily(members)
  const { uid } = object.metadata
  return (
    <>
      {!isWhole && (
        <p class="empty" role="status">
          Reading all kinds
        </p>
      )}
      {isWhole && members.length <= 1 && <p class="empty">Nothing owns it, and it owns nothing.</p>}
      <div class="graph" role="region" aria-label="Owners and owned objects" tabIndex={0}>
        <svg
          width={graph.width + 2 * margin}
          height={graph.height + 2 * margin}
          viewBox={`${-margin} ${-margin} ${graph.width + 2 * margin} ${graph.height + 2 * margin}`}
        >
          {graph.edges.map(({ from, to }) => (
            <Edge key={`${from.member.uid} ${to.member.uid}`} from={from} to={to} />
          ))}
          {graph.members.map((placed) => (
            <Member key={placed.member.uid} placed={placed} isFocus={placed.member.uid === uid} />
          ))}
        </svg>
      </div>
      {graph.left > 0 && <p class="empty">{graph.left} more are not drawn.</p>}
      {notRead.length > 0 && (
        <details>
          <summary>{notRead.length} kinds could not be read</summary>
          <ul>
            {notRead.map((why) => (
              <li key={why}>{why}</li>
            ))}
          </ul>
        </details>
      )}
    </>
  )
}

export function OwnersTab(props: OwnersTabProps) {
  if (at.value !== undefined)
    return <p class="empty">The graph shows the present. Go back to now to see it.</p>
  return <LiveOwners {...props} />
}
