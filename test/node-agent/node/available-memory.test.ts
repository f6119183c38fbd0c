import { totalmem } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { availableMemory } from '../../../components/node-agent/node/available-memory.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const printed = `Mach Virtual Memory Statistics: (page size of 16384 bytes)
Pages free:                                4016.
Pages active:                            202365.
Pages inactive:                          199866.
Pages speculative:                         2057.
Pages throttled:                              0.
Pages wired down:                        113573.
Pages purgeable:                            710.
"Translation faults":                 303450123.
`

test('on macOS pages that can be reclaimed are available, not only free ones', async () => {
  const bytes = await availableMemory({ platform: 'darwin', vmStat: async () => printed })
  expect(bytes).toBe((4016 + 199_866 + 2057 + 710) * 16_384)
})

const otherwise: readonly (readonly [string, Parameters<typeof availableMemory>[0]])[] = [
  ['vm_stat prints something else', { platform: 'darwin', vmStat: async () => 'no statistics' }],
  ['vm_stat cannot be run', { platform: 'darwin', vmStat: () => Promise.reject(new Error('no')) }],
  ['Linux has no /proc', { platform: 'linux', meminfo: join(temporaryFolder('proc'), 'meminfo') }],
  ['it is Windows', { platform: 'win32' }],
]

test.each(otherwise)('when %s, free memory is available', async (_, means) => {
  const bytes = await availableMemory(means)
  expect(bytes).toBeGreaterThan(0)
  expect(bytes).toBeLessThanOrEqual(totalmem())
})

test('this machine has some', async () => {
  expect(await availableMemory()).toBeGreaterThan(0)
})
