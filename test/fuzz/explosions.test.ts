/** Inputs made to cost more than they weigh: answered within a bounded time, and the server goes on. */
import { describe, expect, it } from 'vitest'
import { expectFault } from '../support/expect-fault.ts'
import type { Reply } from '../support/api-server.ts'
import { sharedServer } from '../support/shared-server.ts'

/** Processor time of server and client together, which does not depend on what else the machine does. */
const mostCpuMs = 2000
/** The most that a refusal may weigh, whatever was sent. */
const largestRefusal = 3 * 1024 * 1024

describe('what is made to explode', () => {
  const server = sharedServer()

  async function timed(what: string, ask: () => Promise<Reply>): Promise<Reply> {
    const before = process.cpuUsage()
    const reply = await ask()
    const { user, system } = process.cpuUsage(before)
    const tookMs = (user + system) / 1000
    expect(tookMs, what).toBeLessThan(mostCpuMs)
    expect(reply.status, `${what}: ${reply.text.slice(0, 200)}`).toBeLessThan(500)
    if (reply.status >= 400) {
      expectFault(reply, what)
      expect(reply.text.length, what).toBeLessThan(largestRefusal)
    }
    return reply
  }

  const collection = async (): Promise<string> => {
    const at = `/api/v1/namespaces/${await server().namespace()}/configmaps`
    const data = Object.fromEntries(Array.from({ length: 2000 }, (_, n) => [`k${n}`, `${n}`]))
    await server().ok('POST', at, { body: { metadata: { name: 'x' }, data } })
    return at
  }

  it('JSON patches: many, deep, huge, doubling', async () => {
    const at = await collection()
    const many = (count: number, make: (n: number) => unknown): unknown[] =>
      Array.from({ length: count }, (_, n) => make(n))
    const deep = '/a'.repeat(200_000)
    for (const [what, body] of [
      ['10,000 additions', many(10_000, (n) => ({ op: 'add', path: `/data/n${n}`, value: 'x' }))],
      [
        '10,000 copies of all',
        many(10_000, (n) => ({ op: 'copy', from: '/data', path: `/metadata/annotations/c${n}` })),
      ],
      ['doubling', many(60, () => ({ op: 'copy', from: '/data', path: '/data/again' }))],
      ['10,000 moves', many(10_000, () => ({ op: 'move', from: '/data', path: '/data' }))],
      ['10,000 tests of all', many(10_000, () => ({ op: 'test', path: '/data', value: { a: 1 } }))],
      ['a deep pointer', [{ op: 'add', path: deep, value: 1 }]],
      [
        'many deep pointers',
        many(100, () => ({ op: 'test', path: deep.slice(0, 20_000), value: 1 })),
      ],
      [
        'a huge index',
        [
          { op: 'add', path: '/metadata/finalizers', value: [] },
          { op: 'add', path: '/metadata/finalizers/4294967295', value: 'a' },
        ],
      ],
      [
        'a huger index',
        [
          { op: 'add', path: '/metadata/finalizers', value: [] },
          { op: 'add', path: `/metadata/finalizers/${'9'.repeat(400)}`, value: 'a' },
        ],
      ],
      [
        'insertions at the front',
        [
          { op: 'add', path: '/metadata/finalizers', value: [] },
          ...many(9999, (n) => ({ op: 'add', path: '/metadata/finalizers/0', value: `a.b/${n}` })),
        ],
      ],
    ] as const) {
      const reply = await timed(what, () =>
        server().request('PATCH', `${at}/x?dryRun=All`, {
          body,
          headers: { 'content-type': 'application/json-patch+json' },
        }),
      )
      expect([200, 400, 413, 422], what).toContain(reply.status)
    }
  })

  it('merge, strategic and apply patches with tens of thousands of parts', async () => {
    const at = await collection()
    const pods = at.replace('configmaps', 'pods')
    await server().ok('POST', pods, {
      body: { metadata: { name: 'x' }, spec: { containers: [{ name: 'c', image: 'i' }] } },
    })
    const keys = Object.fromEntries(Array.from({ length: 30_000 }, (_, n) => [`k${n}`, 'x']))
    const nulls = Object.fromEntries(Array.from({ length: 30_000 }, (_, n) => [`k${n}`, null]))
    const env = Array.from({ length: 20_000 }, (_, n) => ({ name: `n${n}`, value: 'x' }))
    const order = Array.from({ length: 20_000 }, (_, n) => ({ name: `n${20_000 - n}` }))
    const container = { name: 'c', env, '$setElementOrder/env': order }
    const owners = Array.from({ length: 20_000 }, (_, n) => ({ uid: `u${n}`, $patch: 'delete' }))
    const apply = (kind: string, more: object): unknown => ({
      apiVersion: 'v1',
      kind,
      metadata: { name: 'x' },
      ...more,
    })
    for (const [what, path, type, body] of [
      ['merge', `${at}/x`, 'merge-patch+json', { data: keys }],
      ['merge away', `${at}/x`, 'merge-patch+json', { data: nulls }],
      ['strategic', `${at}/x`, 'strategic-merge-patch+json', { data: keys }],
      [
        'owners',
        `${at}/x`,
        'strategic-merge-patch+json',
        { metadata: { ownerReferences: owners } },
      ],
      ['env', `${pods}/x`, 'strategic-merge-patch+json', { spec: { containers: [container] } }],
      ['apply', `${at}/x`, 'apply-patch+yaml', apply('ConfigMap', { data: keys })],
      [
        'apply env',
        `${pods}/x`,
        'apply-patch+yaml',
        apply('Pod', { spec: { containers: [{ name: 'c', image: 'i', env }] } }),
      ],
    ] as const) {
      await timed(what, () =>
        server().request(
          'PATCH',
          `${path}?dryRun=All&fieldManager=m${type.startsWith('apply') ? '&force=true' : ''}`,
          {
            body: JSON.stringify(body),
            headers: { 'content-type': `application/${type}` },
          },
        ),
      )
    }
  })

  it('YAML: aliases, merges, depth, one long line, many keys', async () => {
    const at = await collection()
    const bomb = ['a0: &a0 [x,x,x,x,x,x,x,x,x]']
    for (let level = 1; level < 40; level += 1) {
      bomb.push(
        `a${level}: &a${level} [${Array(9)
          .fill(`*a${level - 1}`)
          .join()}]`,
      )
    }
    const wide = Array.from({ length: 30_000 }, (_, n) => `k${n}: v`).join('\n  ')
    for (const [what, body] of [
      ['alias bomb', bomb.join('\n')],
      ['many aliases', `a: &a {b: c}\nd: [${Array(100_000).fill('*a').join()}]`],
      ['merge keys', `a: &a {b: c}\nd: {<<: [${Array(30_000).fill('*a').join()}]}`],
      ['deep flow', `a: ${'['.repeat(30_000)}`],
      ['deep block', Array.from({ length: 1500 }, (_, n) => `${' '.repeat(n)}a:`).join('\n')],
      ['deep lists', `${'- '.repeat(30_000)}a`],
      ['many keys', `metadata: {name: wide}\ndata:\n  ${wide}`],
      ['many unknown fields', `metadata: {name: wide}\n${wide.replaceAll('\n  ', '\n')}`],
      ['one long line', `metadata: {name: wide}\ndata: {a: "${'x'.repeat(2_900_000)}"}`],
      ['many quotes', `a: "${'\\"'.repeat(700_000)}`],
      ['many anchors', Array.from({ length: 30_000 }, (_, n) => `- &a${n} x`).join('\n')],
      ['many tags', Array.from({ length: 30_000 }, () => '- !!str x').join('\n')],
      ['many comments', `${'# x\n'.repeat(600_000)}a: b`],
    ] as const) {
      for (const [method, path, type] of [
        ['POST', `${at}?dryRun=All&fieldValidation=Strict`, 'yaml'],
        ['PATCH', `${at}/x?dryRun=All&fieldManager=m&fieldValidation=Strict`, 'apply-patch+yaml'],
      ] as const) {
        await timed(`${what}, ${type}`, () =>
          server().request(method, path, {
            body,
            headers: { 'content-type': `application/${type}` },
          }),
        )
      }
    }
  })

  it('JSON: unknown and duplicate fields, long numbers, long names', async () => {
    const at = await collection()
    const fields = (count: number, field: (n: number) => string): string =>
      Array.from({ length: count }, (_, n) => field(n)).join()
    for (const [what, body] of [
      ['unknown fields', `{"metadata":{"name":"y"},${fields(30_000, (n) => `"f${n}":1`)}}`],
      ['one field often', `{"metadata":{"name":"y"},${fields(30_000, () => '"data":{}')}}`],
      ['unknown inside', `{"metadata":{"name":"y",${fields(30_000, (n) => `"f${n}":1`)}}}`],
      ['a long number', `{"metadata":{"name":"y"},"immutable":${'1'.repeat(2_000_000)}}`],
      ['a long name', `{"metadata":{"name":"${'a.'.repeat(1_000_000)}a"}}`],
      ['a long base name', `{"metadata":{"generateName":"${'a-'.repeat(1_000_000)}a"}}`],
      [
        'many labels',
        `{"metadata":{"name":"y","labels":{${fields(30_000, (n) => `"-${n}":"-"`)}}}}`,
      ],
      [
        'many finalizers',
        `{"metadata":{"name":"y","finalizers":[${fields(30_000, () => '"-"')}]}}`,
      ],
      [
        'many owners',
        `{"metadata":{"name":"y","ownerReferences":[${fields(30_000, () => '{}')}]}}`,
      ],
      ['long keys', `{"metadata":{"name":"y"},"data":{"${'a'.repeat(1_000_000)}":"1"}}`],
      ['escapes', `{"metadata":{"name":"y"},"data":{"a":"${'\\ud800'.repeat(150_000)}"}}`],
    ] as const) {
      for (const mode of ['Strict', 'Warn', 'Ignore']) {
        await timed(`${what}, ${mode}`, () =>
          server().request('POST', `${at}?dryRun=All&fieldValidation=${mode}`, { body }),
        )
      }
    }
  })

  it('selectors and headers as long as a request may be', async () => {
    await collection()
    const long = (part: string, count: number): string => encodeURIComponent(part.repeat(count))
    for (const query of [
      `labelSelector=${long('a in (b,c),', 1000)}a`,
      `labelSelector=a%20in%20(${long('b,', 4000)}c)`,
      `labelSelector=${long('!', 5000)}`,
      `labelSelector=${long(' ', 5000)}a`,
      `labelSelector=a${long('-a', 5000)}`,
      `fieldSelector=${long('metadata.name!=a,', 500)}metadata.name!=b`,
      `fieldSelector=${long('a.', 4000)}b=c`,
      `continue=${'A'.repeat(12_000)}`,
      `${'limit=1&'.repeat(1500)}`,
      `resourceVersion=${'1'.repeat(12_000)}`,
    ]) {
      await timed(query.slice(0, 40), () => server().request('GET', `/api/v1/configmaps?${query}`))
    }
    for (const accept of ['a/b,'.repeat(3000), `application/json${';q=1'.repeat(3000)}`]) {
      await timed(accept.slice(0, 20), () =>
        server().request('GET', '/api/v1/configmaps?limit=1', { headers: { accept } }),
      )
    }
  })
})
