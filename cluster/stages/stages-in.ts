/** The stages of a user's Stage files. What reads them is large, and loaded where there are some. */
import type { Stage } from '../../components/stage-runner/stage.ts'

/** Rejects with a StageFilesError that names file and line; undefined without files. */
export async function stagesIn(
  files: readonly string[] | undefined,
): Promise<readonly Stage[] | undefined> {
  if (files === undefined) return undefined
  const { readStages } = await import('./read-stages.ts')
  return readStages(files)
}
