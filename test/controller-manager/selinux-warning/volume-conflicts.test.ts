import { describe, expect, it } from 'vitest'
import { createVolumeConflicts } from '../../../components/controller-manager/selinux-warning/volume-conflicts.ts'

const volume = (id: string, label: string) => ({ id, label, policy: 'MountOption', driver: 'd' })

describe('volume conflicts', () => {
  it('are found again for a pod that came back to a volume', () => {
    const conflicts = createVolumeConflicts()
    conflicts.set('default/a', [volume('v', 's0:c1')])
    expect(conflicts.set('default/b', [volume('v', 's0:c2')])).toHaveLength(2)
    expect(conflicts.set('default/b', [volume('v', 's0:c2')])).toEqual([])
    conflicts.set('default/b', [volume('w', 's0:c2')])
    expect(conflicts.set('default/a', [volume('v', 's0:c3')])).toEqual([])
    expect(conflicts.set('default/b', [volume('v', 's0:c2')])).toHaveLength(2)
    conflicts.delete('default/b')
    expect(conflicts.set('default/a', [volume('v', 's0:c1')])).toEqual([])
    expect(conflicts.podsOf('d')).toEqual(['default/a'])
  })

  it('of many pods with a volume each are found in no time', () => {
    const conflicts = createVolumeConflicts()
    const before = process.cpuUsage()
    const keys = Array.from({ length: 20_000 }, (_, i) => `default/p${i}`)
    for (const key of keys) conflicts.set(key, [volume(key, 's0:c1')])
    for (const key of keys) conflicts.set(key, [])
    expect(process.cpuUsage(before).user).toBeLessThan(1_500_000)
    expect(conflicts.podsOf('d')).toEqual([])
  })
})
