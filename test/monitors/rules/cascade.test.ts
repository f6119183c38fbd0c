import { describe, expect, it } from 'vitest'
import { dialects } from '../../../components/api/dialect.ts'
import { cascade } from '../../../monitors/rules/cascade.ts'
import { watchedKinds } from '../../invariants/invariants.ts'
import { ownedBy, tellTo } from '../told-history.ts'

const watched = watchedKinds(dialects.kubernetes)
const set = { metadata: { name: 'web' } }
const pod = (more: object = {}) => ({
  metadata: { name: 'web-1', ownerReferences: [ownedBy('ReplicaSet', 'web')], ...more },
})

function start() {
  const invariant = cascade({ watched: () => watched, patienceMs: 10_000 })
  const history = tellTo(invariant)
  return { ...history, rest: () => invariant.rest(history.nowMs()).map(({ text }) => text) }
}

describe('an object whose owner is gone', () => {
  it('does not stay', () => {
    const history = start()
    history.put('replicaSets', set)
    history.put('pods', pod())
    history.remove('replicaSets', 'web')
    history.pass(9000)
    expect(history.rest()).toEqual([])
    history.pass(2000)
    expect(history.rest()).toEqual([
      'Pod default/web-1 (uid web-1-uid) of revision 102 is left 11 s after the end of its owner ReplicaSet web (uid web-uid)',
    ])
    history.remove('pods', 'web-1')
    expect(history.rest()).toEqual([])
  })

  it('does not come after its owner’s end either', () => {
    const history = start()
    history.put('pods', pod())
    history.pass(11_000)
    expect(history.rest()).toHaveLength(1)
  })

  it('may be on its way out, orphaned on purpose, or owned by somebody else too', () => {
    const history = start()
    history.put('replicaSets', set)
    history.put('pods', pod())
    history.remove('replicaSets', 'web')
    history.pass(11_000)
    history.put('pods', pod({ deletionTimestamp: '2025-01-01T00:00:00Z' }))
    expect(history.rest()).toEqual([])
    history.put('pods', pod({ ownerReferences: [] }))
    expect(history.rest()).toEqual([])
    const shirt = ownedBy('Shirt', 'blue', 'example.com/v1')
    history.put('pods', pod({ ownerReferences: [ownedBy('ReplicaSet', 'web'), shirt] }))
    history.pass(11_000)
    expect(history.rest()).toEqual([])
  })
})
