import { describe, expect, it } from 'vitest'
import { nodeRoom } from './node-room.ts'
import { tellTo } from '../monitors/told-history.ts'

const pod = (name: string, cpu: string, nodeName?: string) => ({
  metadata: { name },
  spec: {
    containers: [{ name: 'c', resources: { requests: { cpu } } }],
    ...(nodeName === undefined ? {} : { nodeName }),
  },
})

function start(allocatable: Record<string, string> = { cpu: '2', pods: '3' }) {
  const history = tellTo(nodeRoom())
  history.put('nodes', { metadata: { name: 'n1' }, status: { allocatable } })
  /** Creates the pod, then binds it. */
  const bind = (name: string, cpu: string): string[] => {
    history.put('pods', pod(name, cpu))
    return history.put('pods', pod(name, cpu, 'n1'))
  }
  return { ...history, bind }
}

describe('a node', () => {
  it('is not given more than its room', () => {
    const { bind } = start()
    expect(bind('a', '1500m')).toEqual([])
    expect(bind('b', '600m')).toEqual([
      'Pod default/b (uid b-uid) was bound at revision 105 beyond the room of Node n1: cpu (thousandths) 2100 > 2000',
    ])
  })

  it('is not given more pods than it takes', () => {
    const { bind } = start({ cpu: '2', pods: '1' })
    expect(bind('a', '0')).toEqual([])
    expect(bind('b', '0')[0]).toContain('pods 2 > 1')
  })

  it('has the room back of pods that ended or are gone', () => {
    const history = start()
    history.bind('a', '2')
    history.change('pods', 'a', { status: { phase: 'Succeeded' } })
    expect(history.bind('b', '2')).toEqual([])
    history.remove('pods', 'b')
    expect(history.bind('c', '2')).toEqual([])
  })

  it('is not blamed for pods that were created on it, nor for room that it had just before', () => {
    const history = start()
    history.put('pods', pod('direct', '2', 'n1'))
    expect(history.bind('a', '2')).toEqual([])
    history.remove('pods', 'a')
    history.change('nodes', 'n1', { status: { allocatable: { cpu: '1', pods: '3' } } })
    expect(history.bind('b', '2')).toEqual([])
    history.pass(60_000)
    expect(history.bind('c', '1')).toHaveLength(1)
  })
})

describe('a pod', () => {
  it('is bound once', () => {
    const history = start()
    history.bind('a', '1')
    expect(history.put('pods', pod('a', '1', 'n2'))).toEqual([
      'Pod default/a (uid a-uid) moved from Node n1 to "n2" at revision 104',
    ])
  })
})
