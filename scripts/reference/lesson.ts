/** The page of the lesson file, and its JSON Schema. */
import { conditionShapes } from '../../console/lessons-engine/check.ts'
import { lessonSchema } from '../../console/lessons-engine/lesson-schema.ts'
import { lessonShape, lessonStepShape } from '../../console/lessons-engine/lesson.ts'
import { page } from './markdown.ts'
import { fieldTable } from './scenario.ts'

const example = `# yaml-language-server: $schema=node_modules/kube-skiff/docs/reference/lesson.schema.json
title: Namespaces
summary: Make one.
cluster: { nodes: 0 }
steps:
  - heading: Make a namespace
    text: A namespace is a room for names.
    command: kubectl create namespace demo
    check:
      expect: { kind: Namespace, name: demo, where: status.phase == Active }
    explanation: The API server made it at once.
`

export function lessonPage(): string {
  return page(
    'Lesson file',
    'Every field of a lesson file. [Lessons](../lessons.md) explains them with examples.',
    'The file is YAML. Editors complete and check it by [the JSON Schema](lesson.schema.json), which the first line names:',
    `\`\`\`yaml\n${example}\`\`\``,
    '## Fields',
    fieldTable(lessonShape),
    '## Steps',
    'Texts, commands and checks may hold variables, `${name}`.',
    fieldTable(lessonStepShape),
    '## Checks',
    'All conditions of a check have to hold at the same time.',
    ...Object.entries(conditionShapes).flatMap(([name, shape]) => [
      `### ${name}`,
      fieldTable(shape),
    ]),
  )
}

export function lessonSchemaFile(): string {
  return `${JSON.stringify(lessonSchema(), null, 2)}\n`
}
