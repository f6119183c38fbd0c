/** Templates of Stages behave as Go's text/template, and end. */
import { describe, expect, it } from 'vitest'
import {
  stageFunctionNames,
  stageFunctions,
} from '../../components/stage-runner/stage-functions.ts'
import { compileTemplate } from '../../components/stage-runner/template/template.ts'
import { TemplateError } from '../../components/stage-runner/template/template-error.ts'

const functions = stageFunctions({
  now: () => Date.parse('2026-01-02T03:04:05.600Z'),
  startMs: Date.parse('2026-01-01T00:00:00Z'),
  version: 'v1',
  nodeAddresses: (name) => [`address of ${name}`],
  podAddresses: (name) => [`first on ${name}`, `second on ${name}`],
  nodeName: 'node-1',
})
const data = {
  name: 'web',
  empty: '',
  count: 3,
  none: null,
  list: ['a', 'b'],
  items: [{ name: 'x', size: 1 }, { name: 'y' }],
  labels: { b: '2', a: '1' },
}
const rendered = (text: string): string =>
  compileTemplate(text, stageFunctionNames).render(data, functions)

describe('a template', () => {
  it.each([
    // Values.
    ['{{ .name }} {{ .count }} {{ .list }} {{ .labels }}', 'web 3 [a b] map[a:1 b:2]'],
    ['{{ .missing }}, {{ .missing.deep.er }}, {{ .none }}', '<no value>, <no value>, <no value>'],
    ['{{ "a\\tb" }}{{ `raw\\t` }}{{ 0x10 }}{{ -2 }}{{ true }}', 'a\tbraw\\t16-2true'],
    ['{{ (index .items 0).name }}', 'x'],
    // Pipelines and variables.
    ['{{ .name | printf "%s-%d" "v" 2 }}', 'v-2%!(EXTRA web)'],
    ['{{ $x := .name }}{{ $x = "other" }}{{ $x }}', 'other'],
    ['{{ $x := 1 }}{{ if true }}{{ $x := 2 }}{{ end }}{{ $x }}', '1'],
    ['{{ $x := 1 }}{{ range .list }}{{ $x = . }}{{ end }}{{ $x }}', 'b'],
    // Conditions.
    ['{{ if .empty }}a{{ else if .name }}b{{ else }}c{{ end }}', 'b'],
    [
      '{{ with .labels }}{{ .a }}{{ else }}no{{ end }}{{ with .none }}x{{ else }}no{{ end }}',
      '1no',
    ],
    ['{{ or .missing .empty "z" }} {{ and .name .count }} {{ not .empty }}', 'z 3 true'],
    ['{{ and .missing (index .missing 1) }}', '<no value>'],
    [
      '{{ eq .name "a" "web" }} {{ eq .missing "a" }} {{ ne .count 3 }} {{ lt 1 2 }} {{ ge "a" "b" }}',
      'true false false true false',
    ],
    // Loops.
    ['{{ range $i, $item := .items }}{{ $i }}={{ $item.name }};{{ end }}', '0=x;1=y;'],
    ['{{ range $key, $value := .labels }}{{ $key }}{{ $value }} {{ end }}', 'a1 b2 '],
    ['{{ range .none }}x{{ else }}nothing{{ end }}', 'nothing'],
    ['{{ range .list }}{{ if eq . "b" }}{{ break }}{{ end }}{{ . }}{{ $.name }}{{ end }}', 'aweb'],
    ['{{ range 3 }}{{ if eq . 1 }}{{ continue }}{{ end }}{{ . }}{{ end }}', '02'],
    // Blanks and comments.
    ['a {{- /* nothing */ -}} b {{- "c" -}}  d', 'abcd'],
    // Functions of Go, sprig and kwok.
    [
      '{{ len .list }} {{ index .list 1 }} {{ slice .name 1 }} {{ print "a" 1 2 "b" }}',
      '2 b eb a1 2b',
    ],
    ['{{ printf "%5.2f|%-4s|%q|%v|%x" 1.5 "a" "b" .list 255 }}', ' 1.50|a   |"b"|[a b]|ff'],
    [
      '{{ default "d" .missing }} {{ dict "a" 1 | toJson }} {{ list 1 2 | join "," }} {{ add 1 2 | mul 3 }}',
      'd {"a":1} 1,2 9',
    ],
    [
      '{{ Quote .name }} {{ Quote .count }} {{ Quote .missing }} {{ .list | Quote }}',
      '"web" "3" "null" "[\\"a\\",\\"b\\"]"',
    ],
    ['{{ Now }} {{ StartTime }} {{ Version }}', '2026-01-02T03:04:05.6Z 2026-01-01T00:00:00Z v1'],
    ['a:{{ YAML .labels 1 }}', 'a:\n  a: "1"\n  b: "2"\n  '],
    ['{{ NodeName }} {{ NodeIP }} {{ NodePort }}', 'node-1 address of node-1 0'],
    [
      '{{ PodIPWith "n" false "" "" "" }} {{ PodIPWith "n" true }} {{ PodIPsWith "n" false }}',
      'first on n address of n [first on n second on n]',
    ],
    [
      '{{ range NodeConditions }}{{ .type }}={{ .status }} {{ end }}',
      'Ready=True MemoryPressure=False DiskPressure=False PIDPressure=False NetworkUnavailable=False ',
    ],
  ])('%s', (text, result) => {
    expect(rendered(text)).toBe(result)
  })

  it.each([
    ['\n{{ .name', 2, 'an action has no }}'],
    ['{{ if .a }}\n{{ else }}', 1, '{{if}} has no {{end}}'],
    ['{{ end }}', 1, 'unexpected {{end}}'],
    ['{{ $x }}', 1, 'undefined variable $x'],
    ['a\nb {{ nothing .name }}', 2, 'the function nothing is not supported'],
    ['{{ template "x" }}', 1, '{{template}} is not supported'],
    ['{{ .name "a" }}', 1, 'only a function takes arguments'],
    ['{{ break }}', 1, '{{break}} outside of range'],
    ['{{ .a | "b" }}', 1, 'a constant cannot take the result of a pipeline'],
    ['{{ ( .a }}', 1, 'a parenthesis has no end'],
    ['x\n\n{{ index .list 5 }}', 3, 'index: index 5 is out of range'],
    ['{{ index .missing 0 }}', 1, 'index: index of nothing'],
    ['{{ .name.first }}', 1, '.first of web'],
    ['{{ eq .name 1 }}', 1, 'eq: a string and a number cannot be compared'],
    ['{{ range .name }}{{ end }}', 1, 'range over web'],
    [
      '{{ range until 100000 }}{{ range until 100000 }}{{ end }}{{ end }}',
      1,
      'it takes more than 50000 steps',
    ],
    [
      '{{ range until 1000 }}{{ repeat 2000 "x" }}{{ end }}',
      1,
      'the result has more than 1000000 characters',
    ],
    ['{{ repeat 999999999 "x" }}', 1, 'repeat: a text has 100000 characters at most'],
    ['{{ indent 50000 "a\\nb\\nc" }}', 1, 'indent: a text has 100000 characters at most'],
  ])('%j fails with its line and the reason', (text, line, message) => {
    let failure: unknown
    try {
      rendered(text)
    } catch (error) {
      failure = error
    }
    expect(failure).toBeInstanceOf(TemplateError)
    expect(failure).toMatchObject({ line, message })
  })
})
