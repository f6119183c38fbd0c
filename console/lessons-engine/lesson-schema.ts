/** The JSON Schema of lesson files, for editors. It accepts every file that the engine accepts. */
import { stepDefinitions } from '../../scenarios/engine/scenario-schema.ts'
import { withoutVariables } from '../../cluster/shape.ts'
import type { JsonSchema } from '../../cluster/shape.ts'
import { lessonShape } from './lesson.ts'

/** A whole schema document. */
export function lessonSchema(): JsonSchema {
  const { properties, ...rest } = lessonShape.schema as JsonSchema & { properties: object }
  const { steps, ...settings } = properties as Record<string, JsonSchema>
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'A lesson of skiff',
    ...rest,
    // Only steps can use variables.
    properties: { ...withoutVariables(settings), steps },
    // Of the steps of actions.
    definitions: stepDefinitions(),
  }
}
