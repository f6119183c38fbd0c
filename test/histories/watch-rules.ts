/**
 * Watch rules, as etcd's robustness tests have them (tests/robustness/validate/watch.go): ordered, unique, reliable, resumable, with true
 * bookmarks and true types.
 */
import type { Commits } from './commits.ts'
import type { History, WatchItem, WatchRecord } from './history.ts'
import { told } from './write-rules.ts'

export function brokenWatchRules({ watches, commits }: History): string[] {
  return watches.flatMap((watch) => {
    const name = `the watch of ${watch.client} on ${watch.server} from ${watch.from}`
    return [...brokenOrder(watch), ...brokenReliability(watch, commits)].map(
      (rule) => `${name} ${rule}`,
    )
  })
}

/** Ordered, unique, and nothing that a bookmark has said to be past. */
function brokenOrder({ from, items }: WatchRecord): string[] {
  const broken: string[] = []
  let last: { type: string; revision: number } = { type: 'start', revision: from }
  for (const item of items) {
    const isBack = item.revision < last.revision
    const isRepeated = item.revision === last.revision && item.type !== 'BOOKMARK'
    if (isBack || isRepeated)
      broken.push(`shows ${item.type} at ${item.revision} after ${last.type} at ${last.revision}`)
    last = item
  }
  return broken
}

/** Everything after its start and up to the last that it showed, as it was committed. */
function brokenReliability({ from, items }: WatchRecord, commits: Commits): string[] {
  const last = items.at(-1)?.revision ?? from
  const shown = new Map(items.filter(isChange).map((item) => [item.revision, item]))
  const missed = commits.between(from, last).filter(({ revision }) => !shown.has(revision))
  const broken = missed.map((commit) => `misses ${told(commit)}`)
  for (const item of shown.values()) {
    const wrong = wrongIn(item, commits)
    if (wrong !== undefined) broken.push(`shows ${JSON.stringify(item)}, and ${wrong}`)
  }
  return broken
}

type Change = Exclude<WatchItem, { type: 'BOOKMARK' }>

function isChange(item: WatchItem): item is Change {
  return item.type !== 'BOOKMARK'
}

function wrongIn({ type, key, revision, value }: Change, commits: Commits): string | undefined {
  const commit = commits.at(revision)
  if (commit === undefined || commit.key !== key) return `there is ${told(commit)}`
  const before = commits.heldAt(key, revision - 1)
  const wanted =
    commit.value === undefined ? 'DELETED' : before === undefined ? 'ADDED' : 'MODIFIED'
  if (type !== wanted) return `it is ${wanted}`
  // A deletion shows the object's last value.
  const held = commit.value ?? before?.value
  return held === value ? undefined : `its value is ${held}`
}
