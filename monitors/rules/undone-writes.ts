/**
 * Two clients do not undo each other's writes: a field that one sets, another sets back, and the first sets again. Who wrote is known from
 * the request journal, or from the field managers where it does not know the revision.
 */
import { changed, writers } from '../../components/api/changed-fields.ts'
import type { Change } from '../change.ts'
import { nameOf, uidOf, writtenAtMs } from '../change.ts'
import { findingOf, type Finding, type Rule, type RuleContext } from '../monitor.ts'

const windowMs = 5 * 60_000
/** So often a write takes back what another client wrote; once or twice people do that. */
const mostUndone = 3
/** Objects that are remembered; the one that was written least recently is forgotten. */
const mostObjects = 5000
const mostFields = 50
/** Agents and controllers take turns to report there, or the API server counts what it lets in and a controller what is there. */
const sharedStatus = new Set(['nodes', 'pods', 'poddisruptionbudgets', 'resourcequotas'])

interface Turn {
  readonly before: string
  readonly after: string
  readonly writer: string
  readonly revision: number
  readonly atMs: number
  readonly undone: number
}

const textOf = (value: unknown): string => JSON.stringify(value) ?? 'nothing'

export function undoneWrites({
  authorOf,
}: Pick<RuleContext, 'authorOf'>): Required<Pick<Rule, 'take'>> {
  const objects = new Map<string, Map<string, Turn>>()
  const turnsOf = (uid: string): Map<string, Turn> => {
    const known = objects.get(uid) ?? new Map<string, Turn>()
    objects.delete(uid)
    objects.set(uid, known)
    if (objects.size > mostObjects) objects.delete(objects.keys().next().value ?? '')
    return known
  }
  const judge = (
    change: Change,
    turns: Map<string, Turn>,
    field: { readonly text: string; readonly before: unknown; readonly after: unknown },
  ): Finding[] => {
    const { text: path } = field
    const writer = change.old === undefined ? '' : writerOf(change, authorOf)
    const [before, after, atMs] = [textOf(field.before), textOf(field.after), writtenAtMs(change)]
    const last = turns.get(path)
    const isUndone =
      last !== undefined &&
      last.before === after &&
      last.after === before &&
      last.writer !== writer &&
      atMs - last.atMs <= windowMs
    const undone = isUndone ? last.undone + 1 : 0
    const { revision } = change
    turns.set(path, { before, after, writer, revision, atMs, undone })
    if (turns.size > mostFields) turns.delete(turns.keys().next().value ?? '')
    if (!isUndone || undone !== mostUndone) return []
    const text = `${last.writer} and ${writer} undo each other's writes of ${path} of ${nameOf(change)}: ${undone} writes in a row took the one before back, last at revision ${revision}`
    return [findingOf(change, text, [String(last.revision)])]
  }
  return {
    take: (change): Finding[] => {
      const uid = uidOf(change.object)
      if (change.type === 'DELETED') objects.delete(uid)
      if (change.type !== 'MODIFIED' || change.old === undefined || change.isListed) return []
      const { found } = changed(change.old, change.object)
      if (found.length === 0) return []
      const turns = turnsOf(uid)
      return found
        .filter(({ path }) => path[0] !== 'status' || !sharedStatus.has(change.resource.plural))
        .flatMap((field) => judge(change, turns, field))
    },
  }
}

function writerOf({ old, object, revision }: Change, authorOf: RuleContext['authorOf']): string {
  const author = authorOf(revision)
  if (author !== undefined) return `${author.user} (${author.userAgent})`
  return old === undefined ? '' : writers(changed(old, object)).join(', ')
}
