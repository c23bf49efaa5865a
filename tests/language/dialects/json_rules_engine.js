// Answers rules by the package json-rules-engine: reads {rules, events}, and writes for each rule the events it matches.
const { Engine } = require(require.resolve('json-rules-engine', { paths: [process.argv[2]] }))

async function answer ({ rules, events }) {
  const found = []
  for (const rule of rules) {
    const engine = new Engine([], { allowUndefinedFacts: true })
    let matched = []
    try {
      for (const [name, conditions] of Object.entries(rule.named || {})) engine.setCondition(name, conditions)
      engine.addRule({ event: { type: 'matched' }, ...rule })
      for (let place = 0; place < events.length; place++) {
        if ((await engine.run(events[place])).events.length) matched.push(place)
      }
    } catch (error) {
      matched = String(error)
    }
    found.push(matched)
  }
  return found
}

let text = ''
process.stdin.on('data', (part) => { text += part })
process.stdin.on('end', async () => process.stdout.write(JSON.stringify(await answer(JSON.parse(text)))))
