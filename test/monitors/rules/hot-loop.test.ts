import { describe, expect, it } from 'vitest'
import { hotLoop } from '../../../monitors/rules/hot-loop.ts'
import { ownedBy, tellTo } from '../told-history.ts'

const deployment = (replicas: number, time: string) => ({
  metadata: { name: 'web' },
  status: { replicas, conditions: [{ type: 'Progressing', lastUpdateTime: time }] },
})
const time = (second: number): string => new Date(second * 1000).toISOString()

describe('an object', () => {
  it('is not written over and over with times that alone differ', () => {
    const history = tellTo(hotLoop())
    const found: string[] = []
    for (let write = 0; write < 100; write += 1) {
      found.push(...history.put('deployments', deployment(1, time(write))))
      history.pass(100)
    }
    expect(found).toEqual([
      'Deployment default/web (uid web-uid) was written 31 times within 30 s with a state that it had before, last at revision 132',
    ])
  })

  it('is not switched to and fro', () => {
    const history = tellTo(hotLoop())
    const found: string[] = []
    for (let write = 0; write < 100; write += 1) {
      found.push(...history.put('deployments', deployment(write % 2, time(0))))
      history.pass(100)
    }
    expect(found).toHaveLength(1)
  })

  it('may be written often as it changes, and now and then as it is', () => {
    const history = tellTo(hotLoop())
    const found: string[] = []
    for (let write = 0; write < 500; write += 1)
      found.push(...history.put('deployments', deployment(write, time(0))))
    for (let write = 0; write < 50; write += 1) {
      found.push(...history.put('deployments', deployment(0, time(write))))
      history.pass(5000)
    }
    expect(found).toEqual([])
  })
})

describe('an owner', () => {
  const pod = (name: string) => ({
    metadata: { name, ownerReferences: [ownedBy('DaemonSet', 'logs')] },
  })

  it('does not make and lose pods in great numbers', () => {
    const history = tellTo(hotLoop())
    const found: string[] = []
    for (let made = 0; made < 100; made += 1) {
      found.push(...history.put('pods', pod(`logs-${made}`)))
      history.remove('pods', `logs-${made}`)
    }
    expect(found).toEqual([
      expect.stringMatching(/^DaemonSet default\/logs .* made 65 pods within 30 s/),
    ])
  })

  it('may have many', () => {
    const history = tellTo(hotLoop())
    const found: string[] = []
    for (let made = 0; made < 500; made += 1)
      found.push(...history.put('pods', pod(`logs-${made}`)))
    expect(found).toEqual([])
  })
})
