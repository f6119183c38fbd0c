/** What `skiff why` prints about objects. Control characters in texts from clients are escaped. */
import type { Evidence, Finding, ObjectAnswer, ObjectName, PendingAnswer } from '../why/finding.ts'
import { countText, listText } from '../why/names.ts'
import { shortDuration, styled } from './terminal.ts'
import { plain, type Shown } from './why-request-text.ts'

/** As many objects of a group as are named. */
const mostNamed = 5

function objectName({ kind, namespace, name }: ObjectName): string {
  return `${kind} ${namespace === undefined ? name : `${namespace}/${name}`}`
}

const sameObject = (a: ObjectName, b: ObjectName): boolean => objectName(a) === objectName(b)

function agoText({ time, count }: Evidence, nowMs: number): string {
  const ms = time === undefined ? Number.NaN : nowMs - Date.parse(time)
  const times = count === undefined ? [] : [`${count} times`]
  const ago = Number.isNaN(ms)
    ? []
    : [ms < 0 ? `in ${shortDuration(-ms)}` : `${shortDuration(ms)} ago`]
  const parts = [...times, ...ago]
  return parts.length === 0 ? '' : ` (${parts.join(', last ')})`
}

function evidenceLines(evidence: readonly Evidence[], about: ObjectName, nowMs: number): string[] {
  const sources = { object: '', condition: 'condition ', event: 'event ', scheduler: 'scheduler: ' }
  const lines = evidence.map((one) => {
    const whose = sameObject(one.object, about) ? '' : `${objectName(one.object)}: `
    return `  - ${plain(`${whose}${sources[one.source]}${one.text}${agoText(one, nowMs)}`)}`
  })
  return [...new Set(lines)]
}

function findingText(finding: Finding, about: ObjectName, { colors, nowMs }: Shown): string {
  const { cause, message, evidence, next } = finding
  const lines = [
    `${styled(plain(cause), 'red', colors)}: ${plain(message)}`,
    ...evidenceLines(evidence, about, nowMs),
    ...next.map((step, index) => `  ${index === 0 ? 'next:' : '     '} ${plain(step)}`),
  ]
  return `${lines.join('\n')}\n`
}

function notReadText(notRead: readonly string[], colors: boolean): string {
  return notRead.map((line) => `${styled('not read:', 'yellow', colors)} ${plain(line)}\n`).join('')
}

export function objectText(answer: ObjectAnswer, shown: Shown): string {
  const { object, isFine, state, findings, owners, notRead } = answer
  const fine = notRead.length === 0 ? 'is fine' : 'is fine as far as could be read'
  const verdict = isFine
    ? styled(fine, 'green', shown.colors)
    : styled('is not as it should be', 'red', shown.colors)
  const owned =
    owners.length === 0
      ? ''
      : `owned by ${owners.map((one) => plain(objectName(one))).join(', ')}\n`
  const head = `${plain(objectName(object))} ${verdict}: ${plain(state)}\n${owned}`
  const parts = findings.map((finding) => findingText(finding, object, shown))
  const missing = notReadText(notRead, shown.colors)
  return [head, ...parts, ...(missing === '' ? [] : [missing])].join('\n')
}

export function pendingText({ isFine, groups, notRead }: PendingAnswer, shown: Shown): string {
  const missing = notReadText(notRead, shown.colors)
  if (groups.length === 0) {
    return `${isFine ? 'Nothing is pending' : 'The pods could not be read'}\n${missing}`
  }
  const parts = groups.map((group) => {
    const [first = { kind: '', name: '' }] = group.objects
    const names = group.objects.map(objectName)
    const head = `${countText(group.objects.length, 'object')}: ${listText(names, mostNamed)}`
    return `${styled(plain(head), 'bold', shown.colors)}\n${findingText(group, first, shown)}`
  })
  return [...parts, ...(missing === '' ? [] : [missing])].join('\n')
}
