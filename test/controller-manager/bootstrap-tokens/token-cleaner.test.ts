import { afterEach, describe, expect, it } from 'vitest'
import { dialects, labelKey } from '../../../components/api/dialect.ts'
import { tokenCleaner } from '../../../components/controller-manager/bootstrap-tokens/token-cleaner.ts'
import { createHarness } from '../../support/controller-harness.ts'
import type { Harness } from '../../support/controller-harness.ts'

const harnesses: Harness[] = []
afterEach(async () => {
  for (const harness of harnesses.splice(0)) await harness.stop()
})

describe.each([dialects.kubernetes, dialects.svc])('token cleaner ($name)', (dialect) => {
  it('[BOOT-018] deletes tokens when they have expired, and leaves all others', async () => {
    const harness = createHarness({ dialect })
    harnesses.push(harness)
    const { cluster, clock, resources } = harness
    const { secrets } = resources
    const add = (
      name: string,
      expiration: string | undefined,
      more: Record<string, unknown> = {},
    ) =>
      cluster.seed(secrets, {
        metadata: { namespace: dialect.systemNamespace, name },
        type: labelKey(dialect, 'bootstrap', 'token'),
        ...(expiration === undefined
          ? {}
          : { data: { expiration: Buffer.from(expiration).toString('base64') } }),
        ...more,
      })
    add('past', '2024-12-31T23:59:59Z')
    add('soon', '2025-01-01T02:00:00+01:00')
    add('later', '2025-02-01T00:00:00Z')
    add('never', undefined)
    add('unreadable', 'next week')
    add('other-type', '2024-01-01T00:00:00Z', { type: 'Opaque' })
    cluster.seed(secrets, {
      metadata: { namespace: 'default', name: 'elsewhere' },
      type: labelKey(dialect, 'bootstrap', 'token'),
      data: { expiration: Buffer.from('2024-01-01T00:00:00Z').toString('base64') },
    })
    const names = () => cluster.all(secrets).map(({ metadata }) => metadata.name)
    await harness.start(tokenCleaner)
    expect(names()).toEqual(['soon', 'later', 'never', 'other-type', 'elsewhere'])
    await clock.step(3_599_000)
    expect(names()).toContain('soon')
    await clock.step(1000)
    await harness.settle()
    expect(names()).toEqual(['later', 'never', 'other-type', 'elsewhere'])
  })

  it('a token whose life is prolonged in time stays', async () => {
    const harness = createHarness({ dialect })
    harnesses.push(harness)
    const { cluster, clock, resources } = harness
    const data = (text: string) => ({ expiration: Buffer.from(text).toString('base64') })
    cluster.seed(resources.secrets, {
      metadata: { namespace: dialect.systemNamespace, name: 'a' },
      type: labelKey(dialect, 'bootstrap', 'token'),
      data: data('2025-01-01T01:00:00Z'),
    })
    await harness.start(tokenCleaner)
    cluster.change(resources.secrets, `${dialect.systemNamespace}/a`, (secret) => {
      secret['data'] = data('2025-01-01T03:00:00Z')
    })
    await clock.step(2 * 3_600_000)
    expect(cluster.all(resources.secrets)).toHaveLength(1)
    await clock.step(3_600_000)
    await harness.settle()
    expect(cluster.all(resources.secrets)).toHaveLength(0)
  })
})
