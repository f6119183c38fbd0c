import { expect, test } from 'vitest'
import { Commits, type Commit } from './commits.ts'
import type { History, WatchItem } from './history.ts'
import { judgeHistory } from './judge-history.ts'
import type { ListOperation, Operation, Outcome, Request } from './operation.ts'

let ids = 0
function op(callMs: number, request: Request, outcome: Outcome, server = 's'): Operation {
  ids += 1
  return { id: ids, client: 'c', server, key: 'k', request, callMs, returnMs: callMs + 1, outcome }
}

/** k=a at 5, b at 7, deleted at 9, c at 12. */
const commits: Commit[] = [
  { revision: 5, key: 'k', value: 'a' },
  { revision: 7, key: 'k', value: 'b' },
  { revision: 9, key: 'k', value: undefined },
  { revision: 12, key: 'k', value: 'c' },
]
const operations: Operation[] = [
  op(0, { verb: 'create', value: 'a' }, { result: 'written', revision: 5 }),
  op(10, { verb: 'patch', value: 'b' }, { result: 'unknown' }),
  op(20, { verb: 'delete' }, { result: 'deleted' }),
  op(30, { verb: 'create', value: 'c' }, { result: 'written', revision: 12 }),
  op(40, { verb: 'get' }, { result: 'found', revision: 12, value: 'c' }),
]
const all: WatchItem[] = [
  { type: 'ADDED', key: 'k', revision: 5, value: 'a' },
  { type: 'BOOKMARK', revision: 6 },
  { type: 'MODIFIED', key: 'k', revision: 7, value: 'b' },
  { type: 'DELETED', key: 'k', revision: 9, value: 'b' },
  { type: 'ADDED', key: 'k', revision: 12, value: 'c' },
  { type: 'BOOKMARK', revision: 12 },
]
const list: ListOperation = {
  client: 'c',
  server: 's',
  isCached: false,
  callMs: 50,
  returnMs: 51,
  revision: 12,
  items: [{ key: 'k', revision: 12, value: 'c' }],
}

function violationsOf(
  change: Partial<Omit<History, 'commits' | 'watches'>> & {
    commits?: Commit[]
    watch?: WatchItem[]
    from?: number
  },
): string {
  const { watch = all, from = 4 } = change
  const judgement = judgeHistory({
    operations: change.operations ?? operations,
    lists: change.lists ?? [list],
    watches: [{ client: 'w', server: 's', from, items: watch }],
    commits: new Commits(change.commits ?? commits),
  })
  expect(judgement.undecided).toEqual([])
  return judgement.violations.join('\n')
}

test('a true history breaks no rule', () => {
  expect(violationsOf({})).toBe('')
  expect(violationsOf({ watch: all.slice(2), from: 5 })).toBe('')
  expect(
    violationsOf({
      lists: [
        {
          ...list,
          isCached: true,
          revision: 8,
          items: [{ key: 'k', revision: 7, value: 'b' }],
          callMs: 25,
          returnMs: 26,
        },
      ],
    }),
  ).toBe('')
})

const more = (...added: Operation[]) => ({ operations: [...operations, ...added] })

test.each<[string, Parameters<typeof violationsOf>[0], RegExp]>([
  [
    'an acknowledged write that is lost',
    {
      commits: commits.slice(0, 3),
      watch: all.slice(0, 4),
      lists: [],
      operations: operations.slice(0, 4),
    },
    /an acknowledged write is lost: #\d+ c on s.*create/,
  ],
  [
    'an acknowledged deletion that is lost',
    more(op(60, { verb: 'delete' }, { result: 'deleted' })),
    /an acknowledged deletion is lost/,
  ],
  [
    'a deletion that nobody asked for',
    { operations: operations.filter(({ request }) => request.verb !== 'delete') },
    /nobody asked for the deletion k deleted at 9/,
  ],
  [
    'a deletion that came too late',
    {
      operations: operations.map((one) =>
        one.request.verb === 'delete' ? { ...one, callMs: 35, returnMs: 36 } : one,
      ),
    },
    /an acknowledged deletion is lost/,
  ],
  [
    'the write of a request that failed',
    {
      operations: operations.map((one) =>
        one.request.verb === 'patch' ? { ...one, outcome: { result: 'conflict' } } : one,
      ),
    },
    /a failed write was done/,
  ],
  [
    'a write that was done twice',
    { commits: [...commits, { revision: 13, key: 'k', value: 'b' }] },
    /a write was done twice: k=b at 7 and k=b at 13/,
  ],
  [
    'a write that nobody asked for',
    { commits: [...commits, { revision: 13, key: 'k', value: 'x' }] },
    /nobody asked for the write k=x at 13/,
  ],
  [
    'a revision that goes back',
    {
      operations: operations.map((one) =>
        one.id === operations[0]?.id ? { ...one, callMs: 31.5, returnMs: 32 } : one,
      ),
    },
    /revisions went back|not linearizable/,
  ],
  [
    'a stale read',
    more(op(60, { verb: 'get' }, { result: 'found', revision: 7, value: 'b' })),
    /a stale read/,
  ],
  [
    'a read of what was never stored',
    more(op(60, { verb: 'get' }, { result: 'found', revision: 8, value: 'b' })),
    /never stored/,
  ],
  [
    'an object that is not found',
    more(op(60, { verb: 'get' }, { result: 'absent' })),
    /an object was there/,
  ],
  [
    'a cached read that goes back',
    more(op(60, { verb: 'get', isCached: true }, { result: 'found', revision: 7, value: 'b' })),
    /reads went back/,
  ],
  [
    'a read of the future',
    {
      operations: [
        ...operations,
        op(2, { verb: 'get' }, { result: 'found', revision: 12, value: 'c' }),
      ],
    },
    /a read of the future/,
  ],
  [
    'a stale list',
    { lists: [{ ...list, revision: 8, items: [{ key: 'k', revision: 7, value: 'b' }] }] },
    /a stale list/,
  ],
  [
    'a list of what was not there together',
    { lists: [{ ...list, items: [] }] },
    /shows , and k=c@12 was stored/,
  ],
  [
    'a list of another revision than was asked for',
    { lists: [{ ...list, exactly: 9 }] },
    /asked for exactly 9/,
  ],
  [
    'a watch that misses a change',
    { watch: all.filter(({ revision }) => revision !== 7) },
    /misses k=b at 7/,
  ],
  ['a watch that starts late', { watch: all.slice(2) }, /misses k=a at 5/],
  [
    'a watch that repeats a change',
    { watch: [...all.slice(0, 3), ...all.slice(2)] },
    /shows MODIFIED at 7 after MODIFIED at 7/,
  ],
  [
    'a watch out of order',
    { watch: [...all.slice(0, 2), ...all.slice(3, 4), ...all.slice(2, 3), ...all.slice(4)] },
    /shows MODIFIED at 7 after DELETED at 9/,
  ],
  [
    'a bookmark of what has not been shown',
    { watch: [all[0], { type: 'BOOKMARK', revision: 8 }] as WatchItem[] },
    /misses k=b at 7/,
  ],
  [
    'a change after the bookmark that covers it',
    { watch: [all[0], { type: 'BOOKMARK', revision: 8 }, ...all.slice(2)] as WatchItem[] },
    /shows MODIFIED at 7 after BOOKMARK at 8/,
  ],
  [
    'a watch with a wrong type',
    {
      watch: all.map((item) =>
        item.revision === 7 ? ({ ...item, type: 'ADDED' } as WatchItem) : item,
      ),
    },
    /it is MODIFIED/,
  ],
  [
    'a watch with a wrong value',
    {
      watch: all.map((item) =>
        item.revision === 12 && item.type === 'ADDED' ? { ...item, value: 'b' } : item,
      ),
    },
    /its value is c/,
  ],
])('finds %s', (_, change, message) => {
  expect(violationsOf(change)).toMatch(message)
})
