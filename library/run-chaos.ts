/** runChaos: a chaos from its beginning to its end, with what its caller does meanwhile. */
import type { ChaosReport, ChaosSpec } from '../cluster/lab/chaos/chaos-report.ts'
import type { LabChaos } from '../cluster/lab/lab.ts'

/** Resolves when it is over. When `meanwhile` rejects, the chaos is stopped. */
export async function runChaos(
  chaos: LabChaos,
  spec: ChaosSpec,
  meanwhile: () => Promise<unknown> = async () => {},
): Promise<ChaosReport> {
  await chaos.begin(spec)
  const over = chaos.over()
  try {
    await meanwhile()
  } catch (error) {
    await chaos.stop()
    await over
    throw error
  }
  return await over
}
