/** A family as text: the tree, states, ages, and why objects that are being deleted are still there. Control characters are escaped. */
import { styled, type Style } from '../../cluster/cli/terminal.ts'
import { plain } from '../../cluster/cli/why-request-text.ts'
import { knownFinalizers } from '../../cluster/why/finalizers.ts'
import { deletedAt } from '../../cluster/why/terminating.ts'
import type { Dialect } from '../../components/api/dialect.ts'
import type { KubeObject } from '../../components/machinery/objects/object.ts'
import { ageOf } from '../../components/machinery/values/duration.ts'
import type { Member } from './family.ts'
import { objectState, type Health } from './object-state.ts'
import type { Family } from './read-family.ts'

export interface ShownFamily {
  readonly dialect: Dialect
  readonly nowMs: number
  readonly colors: boolean
  /** Objects of other namespaces show theirs. */
  readonly namespace: string
}

const styles: Readonly<Record<Health, Style | undefined>> = {
  good: 'green',
  waiting: 'yellow',
  bad: 'red',
  unknown: undefined,
}

/** `Pod/web-1`; with the namespace where it is not the one that the reader knows. */
export function memberName({ kind = '', metadata }: KubeObject, namespace: string): string {
  const { name = '' } = metadata
  const isElsewhere = metadata.namespace !== undefined && metadata.namespace !== namespace
  return plain(isElsewhere ? `${kind}/${metadata.namespace}/${name}` : `${kind}/${name}`)
}

/** What a deleted object waits for; undefined for one that is not deleted. */
export function deletionText(
  object: KubeObject,
  { dialect, nowMs }: Pick<ShownFamily, 'dialect' | 'nowMs'>,
): string | undefined {
  const { deletionTimestamp, finalizers = [] } = object.metadata
  if (deletionTimestamp === undefined) return undefined
  const known = knownFinalizers(dialect)
  const waits = finalizers.map((one) => known.get(one)?.waitsFor ?? `the finalizer ${one}`)
  const graceMs = Date.parse(deletionTimestamp) - nowMs
  const ending = graceMs > 0 ? [`its end within ${Math.ceil(graceMs / 1000)}s`] : []
  const all = [...waits, ...ending]
  const ago = ageOf(deletedAt(object), nowMs)
  return plain(`deleted ${ago} ago${all.length === 0 ? '' : `, waits for ${all.join(', and ')}`}`)
}

interface Row {
  /** Lines of the tree before the name. */
  readonly lead: string
  readonly name: string
  readonly state: string
  readonly style: Style | undefined
  readonly age: string
  readonly isAsked: boolean
}

function rowOf(member: Member, lead: string, shown: ShownFamily & { askedUid?: string }): Row {
  const { object, isRepeated } = member
  const deletion = deletionText(object, shown)
  const { health, text } = objectState(object)
  const repeated = isRepeated ? ' (what it owns is shown above)' : ''
  return {
    lead,
    name: `${memberName(object, shown.namespace)}${repeated}`,
    state: deletion ?? plain(text),
    style: deletion === undefined ? styles[health] : 'yellow',
    age: ageOf(object.metadata.creationTimestamp, shown.nowMs),
    isAsked: object.metadata.uid === shown.askedUid,
  }
}

function rowsOf(members: readonly Member[], shown: ShownFamily & { askedUid?: string }): Row[] {
  const rows: Row[] = []
  const visit = (member: Member, lead: string, below: string): void => {
    rows.push(rowOf(member, lead, shown))
    for (const [index, owned] of member.owns.entries()) {
      const isLast = index === member.owns.length - 1
      visit(owned, `${below}${isLast ? '└── ' : '├── '}`, `${below}${isLast ? '    ' : '│   '}`)
    }
  }
  for (const root of members) visit(root, '', '')
  return rows
}

/** With a heading, one line for each object, and one for each thing that could not be read. */
export function familyText(family: Family, shown: ShownFamily): string {
  const { roots, notRead, askedUid } = family
  const { colors } = shown
  const rows = rowsOf(roots, { ...shown, ...(askedUid === undefined ? {} : { askedUid }) })
  const nameWidth = Math.max(4, ...rows.map(({ lead, name }) => lead.length + name.length))
  const ageWidth = Math.max(3, ...rows.map(({ age }) => age.length))
  const heading = `${'NAME'.padEnd(nameWidth)}  ${'AGE'.padEnd(ageWidth)}  STATE`
  const lines = rows.map(({ lead, name, state, style, age, isAsked }) => {
    const padding = ' '.repeat(nameWidth - lead.length - name.length)
    const shownName = isAsked ? styled(name, 'bold', colors) : name
    const tree = `${styled(lead, 'dim', colors && lead !== '')}${shownName}${padding}`
    const shownState = style === undefined ? state : styled(state, style, colors && state !== '')
    return `${tree}  ${age.padEnd(ageWidth)}  ${shownState}`.trimEnd()
  })
  const missing = notRead.map((line) => `${styled('not read:', 'yellow', colors)} ${plain(line)}`)
  const head = rows.length === 0 ? [] : [styled(heading, 'bold', colors), ...lines]
  return [...head, ...missing].map((line) => `${line}\n`).join('')
}
