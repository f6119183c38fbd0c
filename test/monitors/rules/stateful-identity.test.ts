import { describe, expect, it } from 'vitest'
import { statefulIdentity } from '../../../monitors/rules/stateful-identity.ts'
import { ownedBy, tellTo } from '../told-history.ts'

const pod = (uid: string) => ({
  metadata: { name: 'web-0', uid, ownerReferences: [ownedBy('StatefulSet', 'web')] },
  spec: { nodeName: 'n1' },
})
const running = {
  status: { phase: 'Running', containerStatuses: [{ name: 'c', state: { running: {} } }] },
}
const ended = { status: { phase: 'Failed', containerStatuses: [] } }

function start() {
  const history = tellTo(statefulIdentity())
  history.put('nodes', { metadata: { name: 'n1' } })
  history.put('pods', pod('first'))
  return history
}

describe('an identity of a StatefulSet', () => {
  it('has no second pod while the containers of the first may run', () => {
    const history = start()
    history.change('pods', 'web-0', running)
    history.remove('pods', 'web-0')
    expect(history.put('pods', pod('second'))).toEqual([
      'Pod default/web-0 (uid second) lives since revision 105 beside Pod default/web-0 (uid first) of revision 102',
    ])
  })

  it('may be taken up once the agent has reported the end', () => {
    const history = start()
    history.change('pods', 'web-0', running)
    history.change('pods', 'web-0', ended)
    history.remove('pods', 'web-0')
    expect(history.put('pods', pod('second'))).toEqual([])
  })

  it('may be taken up after a pod that never ran', () => {
    const history = start()
    history.remove('pods', 'web-0')
    expect(history.put('pods', pod('second'))).toEqual([])
  })

  it.each([
    ['is gone', 'remove' as const],
    ['is out of service', 'taint' as const],
  ])('may be taken up when the node %s', (_, how) => {
    const history = start()
    history.change('pods', 'web-0', running)
    const taints = [{ key: 'node.kubernetes.io/out-of-service', effect: 'NoExecute' }]
    if (how === 'remove') history.remove('nodes', 'n1')
    else history.change('nodes', 'n1', { spec: { taints } })
    history.remove('pods', 'web-0')
    expect(history.put('pods', pod('second'))).toEqual([])
  })

  it('may be taken up after a pod that is to have no time to end', () => {
    const history = start()
    const spec = { nodeName: 'n1', terminationGracePeriodSeconds: 0 }
    history.change('pods', 'web-0', { ...running, spec })
    history.remove('pods', 'web-0')
    expect(history.put('pods', pod('second'))).toEqual([])
  })
})
